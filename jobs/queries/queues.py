"""Queues: settings, depths, loads, pauses."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from jobs.domain.errors import Conflict
from jobs.domain.record.dispatches import OpenQueue
from jobs.queries.base import as_json, run, run_hot

TRIES: Final = 10  # how often a concurrently deleted queue is made again


class Load(NamedTuple):
    """How many jobs wait in a queue, and how many bytes they have."""

    jobs: int = 0
    bytes: int = 0


def pressure(threshold: float) -> int:
    """Emit an event for each queue that crossed its warning threshold; returns how many.

    A queue without a threshold of its own uses `threshold`.
    """
    return len(run("pressure", {"threshold": threshold}))


def loads(queues: Sequence[str]) -> dict[str, Load]:
    """Return the exact waiting load of queues; a queue where no job ever waited is absent."""
    rows = run("loads", {"queues": list(queues)})
    return {queue: Load(int(jobs), int(size or 0)) for queue, jobs, size in rows}


def make_queues(queues: Sequence[str]) -> None:
    """Make missing queues by the template."""
    run("make_queues", {"queues": list(queues)})


def configure(queue: str, config: Mapping[str, Any], limit_id: int | None) -> None:
    """Set the configuration of an existing queue."""
    run("configure", {"queue": queue, "config": as_json(config), "limit_id": limit_id})


def pause(queue: str, actor: str, *, paused: bool) -> tuple[datetime | None, datetime]:
    """Pause or resume a queue, made if unknown.

    Returns when it was paused (None: not) and the time of this call.
    """
    for _ in range(TRIES):
        make_queues([queue])
        rows = run("pause", {"queue": queue, "paused": paused, "actor": actor})
        if rows:  # otherwise it was deleted just now
            return rows[0][0], rows[0][1]
    raise Conflict(f"queue {queue} is being deleted again and again", details={"queue": queue})


def depths(queues: Sequence[str] | None = None) -> dict[str, dict[int, int]]:
    """Exact numbers of jobs by queue and state code."""
    found: dict[str, dict[int, int]] = {}
    rows = run("depths", {"queues": list(queues) if queues is not None else None})
    for queue, state, number in rows:
        found.setdefault(queue, {})[state] = int(number)
    return found


def name_queues() -> list[str]:
    """Make deleted queues again that hold jobs; returns their names."""
    return [row[0] for row in run_hot("name_queues", {})]


def draining() -> list[tuple[str, str | None]]:
    """Return the queues that drain, each with the queue that its jobs move to."""
    return run_hot("draining", {})


def asleep() -> list[tuple[int, int]]:
    """Return the lanes that hold jobs but are not offered, and the numbers of their first jobs."""
    return [(lane, seq) for lane, seq in run("asleep", {})]


def unblock() -> int:
    """Unblock lanes whose limit has room; returns how many."""
    return run("unblock", {})[0][0] or 0


def open_queues(queues: Sequence[str]) -> dict[str, OpenQueue]:
    """Return the claimable queues by the claim's own conditions."""
    return {name: OpenQueue(*rest) for name, *rest in run("open_queues", {"queues": list(queues)})}


def namespaces(after: str, most: int) -> list[str]:
    """Return the next queues of namespaces, `tenant:queue`, that have an offered lane."""
    return [row[0] for row in run("namespaces", {"after": after, "most": most})]


def namespace_starts(wanted: Mapping[str, tuple[str, str, datetime]]) -> dict[str, datetime]:
    """Return when a job of a tenant and queue last started since a time, by name."""
    tenants, queues, since = (list(one) for one in zip(*wanted.values(), strict=True))
    params = {"names": list(wanted), "tenants": tenants, "queues": queues, "since": since}
    return dict(run("namespace_starts", params))


def last_starts(queues: Sequence[str]) -> dict[str, datetime]:
    """Return the last unaggregated starts by queue."""
    return dict(run("last_starts", {"queues": list(queues)}))


def full_pools(caps: Mapping[str, int | None], unnamed: str) -> dict[str, int]:
    """Return the active jobs of pools that can hand out no more."""
    params = {"pools": list(caps), "caps": list(caps.values()), "unnamed": unnamed}
    return {name: int(active) for name, active in run("full_pools", params)}


def pool_loads(pool: str) -> dict[str, int]:
    """Count the active jobs of a pool by queue."""
    return {queue: int(jobs) for queue, jobs in run("pool_loads", {"pool": pool})}


def tenant_depths(tenant: str) -> dict[str, dict[int, int]]:
    """Exact numbers of a tenant's jobs by queue and state code."""
    found: dict[str, dict[int, int]] = {}
    for queue, state, number in run("tenant_depths", {"tenant": tenant}):
        found.setdefault(queue, {})[state] = int(number)
    return found


def priorities(queue: str, tenant: str | None, *, most: int, looked: int) -> dict[int, int]:
    """Count a queue's available jobs by priority, highest first, up to the bounds."""
    params = {"queue": queue, "tenant": tenant, "most": most, "looked": looked}
    return {int(row[0]): int(row[1]) for row in run("priorities", params)}


def oldest_at(queues: Sequence[str], tenant: str | None) -> dict[str, datetime]:
    """Return since when the oldest available job of each queue waits; empty queues are absent."""
    return dict(run("oldest_at", {"queues": list(queues), "tenant": tenant}))
