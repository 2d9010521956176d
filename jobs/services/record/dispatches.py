"""Count started jobs by queue and pool, and jobs that could start. Spec: fair-scheduling 10.2, 11.

The start of a job updates no counter: its event names the pool, and the loop `fold` counts it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from jobs import queries
from jobs.domain.dispatch.claim import split_queue
from jobs.domain.record.dispatches import OpenQueue, Started
from jobs.domain.states import CODES, State
from jobs.models import Dispatch, TenantDepth

WATCH = 1  # second number of the advisory lock
AVAILABLE, ACTIVE = CODES[State.AVAILABLE], CODES[State.ACTIVE]


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs of a queue at this moment."""

    available: int = 0
    active: int = 0


def started(
    window_ms: int, queues: Collection[str] | None = None, pool: str | None = None
) -> Mapping[str, Started]:
    """Count the started jobs of each queue in the window that ends now; idle queues are absent.

    The window has whole seconds, or whole minutes if it is longer than an hour. None: all queues or
    all pools.
    """
    return queries.dispatches(window_ms, None if queues is None else sorted(queues), pool)


def totals() -> list[tuple[str, str, int]]:
    """Return queue, pool (empty: none) and number of started jobs; as of the last aggregation."""
    rows = Dispatch.objects.order_by("queue", "pool")
    return list(rows.values_list("queue", "pool", "jobs"))


def loads(queues: Collection[str], pool: str | None = None) -> dict[str, Load]:
    """Count the jobs of queues exactly; with a pool, only its own active jobs."""
    depths = queries.depths(sorted(queues))
    own = None if pool is None else queries.pool_loads(pool)
    return {
        queue: Load(
            depths.get(queue, {}).get(AVAILABLE, 0),
            depths.get(queue, {}).get(ACTIVE, 0) if own is None else own.get(queue, 0),
        )
        for queue in queues
    }


def open_queues(queues: Collection[str]) -> Mapping[str, OpenQueue]:
    """Return the queues that have a claimable job; `last_at` is as of the last aggregation."""
    return queries.open_queues(sorted(queues)) if queues else {}


def last_starts(queues: Collection[str]) -> Mapping[str, datetime]:
    """Return when a job of each queue last started, from unaggregated events."""
    return queries.last_starts(sorted(queues)) if queues else {}


def namespaces(after: str, most: int) -> list[str]:
    """Name the next queues of namespaces, as `tenant:queue`, that seem to have claimable jobs."""
    return queries.namespaces(after, most)


def namespace_starts(since: Mapping[str, datetime]) -> Mapping[str, datetime]:
    """Return when a job of each queue of a namespace last started since a time, to the minute.

    Queues without such a start are absent.
    """
    wanted = {}
    for name, at in since.items():
        tenant, queue = split_queue(name)
        wanted[name] = (tenant or "", queue, at)
    return queries.namespace_starts(wanted) if wanted else {}


def available_in(names: Collection[str]) -> dict[str, int]:
    """Count the available jobs of queues of namespaces, as of the last aggregation."""
    places = {(*split_queue(name), AVAILABLE): name for name in names}
    rows = TenantDepth.objects.filter(pk__in=list(places)).values_list("pk", "jobs")
    return dict.fromkeys(names, 0) | {places[pk]: max(0, jobs) for pk, jobs in rows}


def full_pools(caps: Mapping[str, int | None], unnamed: str) -> Mapping[str, int]:
    """Return the active jobs of pools whose cap is reached or whose workers are all full.

    `caps` by pool, None: no cap; `unnamed` is the pool of workers that name none.
    """
    return queries.full_pools(caps, unnamed) if caps else {}


def watches_alone() -> bool:
    """Take the lock of the queue and pool check, in the caller's transaction; False if taken."""
    return queries.alone(WATCH)
