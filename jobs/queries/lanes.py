"""Lanes, their shares, and the configuration version."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from jobs.database import connection
from jobs.domain.dispatch.claim import LaneKey, Share
from jobs.queries.base import as_json, run


class StoredConfiguration(NamedTuple):
    """The configuration version, the limits of types, and (config, is draining) of existing queues.

    `template` is the configuration of queues that do not exist yet.
    """

    version: int
    types: dict[str, int]
    queues: dict[str, tuple[dict[str, Any], bool]]
    template: dict[str, Any]


def configuration(queues: Sequence[str]) -> StoredConfiguration:
    """Read the configuration of queues and types for enqueues."""
    rows = run("configuration", {"queues": list(queues)})
    found = {row[1]: (orjson.loads(row[2]), row[3]) for row in rows if row[1]}
    template, types = (orjson.loads(text or "{}") for text in rows[0][4:6])
    return StoredConfiguration(rows[0][0], types, found, template)


def raise_config_version() -> None:
    """Raise the configuration version: every process reads anew before its next enqueue."""
    run("raise_config_version", {})


def lock_config_version() -> None:
    """Lock the configuration version until this transaction ends; waits for another change."""
    run("lock_config_version", {})


def lock_lanes(*, exclusive: bool) -> None:
    """Wait for changes of tenants' limits (or, exclusive, for transactions that make lanes)."""
    run("lock_lanes", {"exclusive": exclusive})


def lanes(
    keys: Sequence[LaneKey], shares: Mapping[LaneKey, Share]
) -> tuple[dict[LaneKey, int], int]:
    """Find or make the lanes of `keys`, with shares or defaults; returns the configuration version.

    A lane that another transaction is just making is absent: call again.
    """
    wanted = [
        {
            "n": n, "queue": key.queue, "priority": key.priority, "tenant": key.tenant,
            "route": key.route, "limits": f"{{{','.join(map(str, key.limits))}}}",
            **_share(shares.get(key, Share()), key.queue),
        }
        for n, key in enumerate(keys)
    ]  # fmt: skip
    rows = run("lanes", {"keys": as_json(wanted)})
    return {keys[n]: lane_id for n, lane_id, _ in rows if n is not None}, rows[0][2]


def _share(share: Share, queue: str | None = None) -> dict[str, object]:
    return {
        "weight": share.weight, "boost": share.boost, **share.policy._asdict(),
        "found_in": share.found_in or queue,
    }  # fmt: skip


def wake(lane_ids: Sequence[int]) -> None:
    """Offer lanes to the claim. Raises DatabaseError OJS01 when a lane was deleted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ojs_wake(%s::bigint[])", [sorted(lane_ids)])


def offer(lane_id: int) -> bool:
    """Offer a paused lane again; False when it was not paused."""
    return bool(run("offer", {"id": lane_id}))


def keep_scopes(scopes: Collection[str]) -> None:
    """Delete the shares of tenants in all other scopes."""
    run("keep_scopes", {"scopes": list(scopes)})


def adopt(limit_id: int) -> None:
    """Count the active jobs of a queue or tenant for its new limit."""
    run("adopt", {"id": limit_id})


def weigh(tenant: str, weight: float | None, limit_id: int | None) -> int:
    """Give all lanes of a tenant a weight and a limit, if any; returns how many there are."""
    return len(run("weigh", {"tenant": tenant, "weight": weight, "limit_id": limit_id}))


def reweigh(shares: Mapping[int, Share]) -> int:
    """Set the sharing policy, shares and queue of lanes, by id; returns how many changed."""
    wanted = [{"id": lane_id, **_share(share)} for lane_id, share in shares.items()]
    return len(run("reweigh", {"shares": as_json(wanted)}))


def charge(batch: int, memory: int) -> tuple[int, bool]:
    """Charge ended attempts by their run time; returns how many, and whether more wait."""
    attempts, has_more = run("charge", {"batch": batch, "memory": memory})[0]
    return attempts, has_more


def charge_queues(queues: Sequence[str]) -> None:
    """Charge the jobs of these queues, and of no others, by their run time."""
    run("charge_queues", {"queues": list(queues)})


def prune_rotations(kept_ms: int, batch: int) -> int:
    """Delete rotations of lists of queues that no claim used lately; returns how many."""
    return len(run("prune_rotations", {"kept_ms": kept_ms, "batch": batch}))
