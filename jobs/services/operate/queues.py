"""Pause, resume and list queues, with their numbers. Spec: contract 3.5, 10.2, 10.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from jobs import queries
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import NotFound
from jobs.domain.states import CODES, WAITING, State
from jobs.models import Queue
from jobs.services.audit.audit import audited

HOUR = 60  # minutes
MOST = 10_000  # available jobs counted per lane, for the priorities of a queue
LOOKED = 100_000  # the same for all lanes of the queue


Depths = Mapping[str, Mapping[int, int]]  # by queue and state code


@dataclass(frozen=True, slots=True)
class QueueStats:
    """One queue; `jobs` by state, exact at `computed_at`; the last hour as aggregated."""

    name: str
    paused_at: datetime | None
    created_at: datetime
    jobs: dict[State, int]
    completed_last_hour: int
    failed_last_hour: int
    avg_duration_ms: float
    avg_wait_ms: float
    computed_at: datetime
    max_depth: int | None  # how many jobs may wait; null: any number
    max_size_bytes: int | None  # how many bytes may wait; null: any number
    size_bytes: int | None  # how many bytes wait; null: bytes are not bounded
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of waiting jobs."""
        return sum(self.jobs.get(state, 0) for state in WAITING)


def queues(*, limit: int, offset: int, tenant: str | None = None) -> tuple[list[Queue], int]:
    """List queues by name, with a tenant the queues with its jobs; returns a page and the total."""
    found = Queue.objects.all()
    if tenant is not None:
        found = found.filter(name__in=_queues_of(tenant))
    return list(found[offset : offset + limit]), found.count()


def stats(name: str, tenant: str | None = None) -> QueueStats:
    """Return the numbers of a queue; with a tenant, of its jobs alone. Raises NotFound."""
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise NotFound.of("queue", name)
    return _stats([queue], tenant)[0]


def all_stats(
    *,
    limit: int,
    containing: str = "",
    after: str = "",
    tenant: str | None = None,
    by_queue: Depths | None = None,
) -> list[QueueStats]:
    """Return the numbers of queues by name, from after `after` on; always three statements.

    With a tenant: the queues that have its jobs, and the numbers of these jobs alone. `by_queue` is
    a result of `depths` for the tenant, which saves a statement.
    """
    found = Queue.objects.filter(name__icontains=containing, name__gt=after)
    if tenant is not None:
        by_queue = depths(tenant) if by_queue is None else by_queue
        found = found.filter(
            name__in=[name for name, jobs in by_queue.items() if any(jobs.values())]
        )
    return _stats(list(found[:limit]), tenant, by_queue)


def depths(tenant: str | None = None) -> Depths:
    """Return the number of jobs by queue and state code, with a tenant of its jobs alone; exact."""
    return queries.depths() if tenant is None else queries.tenant_depths(tenant)


def named_stats(
    *, tenant: str | None = None, names: Sequence[str] | None = None, limit: int, offset: int
) -> tuple[list[QueueStats], int]:
    """Return a page of queues by name, limited to `names` if given, and how many there are.

    With a tenant: the queues that have its jobs, and the numbers of these jobs alone.
    """
    found = Queue.objects.all() if names is None else Queue.objects.filter(name__in=names)
    if tenant is None:
        return _stats(list(found[offset : offset + limit])), found.count()
    own = found.filter(name__in=_queues_of(tenant))
    return _stats(list(own[offset : offset + limit]), tenant), own.count()


def _queues_of(tenant: str) -> list[str]:
    """Return the queues that have jobs of a tenant."""
    return [name for name, jobs in queries.tenant_depths(tenant).items() if any(jobs.values())]


def containing(text: str, limit: int, tenant: str | None = None) -> list[Queue]:
    """Return the first queues by name whose name contains a text, in any case.

    With a tenant: only queues that have its jobs, by a second statement.
    """
    found = Queue.objects.filter(name__icontains=text)
    if tenant is not None:
        found = found.filter(name__in=_queues_of(tenant))
    return list(found.order_by("name")[:limit])


def count_queues(tenant: str | None = None) -> tuple[int, int]:
    """Return how many queues there are, and how many of them are paused."""
    found = Queue.objects.all()
    if tenant is not None:
        found = found.filter(name__in=_queues_of(tenant))
    return found.count(), found.filter(paused_at__isnull=False).count()


def oldest_available(name: str, tenant: str | None = None) -> datetime | None:
    """Return since when the oldest available job of a queue waits."""
    return oldest_of([name], tenant).get(name)


def oldest_of(names: Sequence[str], tenant: str | None = None) -> dict[str, datetime]:
    """Return since when the oldest available job of each queue waits; empty queues are absent."""
    return queries.oldest_at(names, tenant)


def priorities(name: str, tenant: str | None = None) -> dict[int, int]:
    """Count the available jobs of a queue by priority, up to MOST per lane. Raises NotFound."""
    if not Queue.objects.filter(name=name).exists():
        raise NotFound.of("queue", name)
    return queries.priorities(name, tenant, most=MOST, looked=LOOKED)


def pause(
    name: str, caller: Caller = SYSTEM, reason: str | None = None
) -> tuple[QueueStats, datetime]:
    """Stop handing out a queue's jobs; returns the queue and since when. Makes an unknown queue."""
    with audited(caller, "queue.paused", name, reason=reason):
        paused_at, now = queries.pause(name, caller.name, paused=True)
    return stats(name), paused_at or now


def resume(
    name: str, caller: Caller = SYSTEM, reason: str | None = None
) -> tuple[QueueStats, datetime]:
    """Hand out a queue's jobs again; returns it and the present time. Makes an unknown queue."""
    with audited(caller, "queue.resumed", name, reason=reason):
        _, now = queries.pause(name, caller.name, paused=False)
    return stats(name), now


def _stats(
    found: list[Queue], tenant: str | None = None, by_queue: Depths | None = None
) -> list[QueueStats]:
    names = [str(queue.name) for queue in found]
    if by_queue is None:
        by_queue = queries.depths(names) if tenant is None else queries.tenant_depths(tenant)
    counted = queries.minutes(names, HOUR, tenant)
    weighed = [str(queue.name) for queue in found if _bound_of(queue).get("max_size_bytes")]
    loads = queries.loads(weighed) if weighed and tenant is None else None
    now = timezone.now()
    return [
        _one(queue, by_queue.get(name, {}), counted.get(name, queries.Counted()), now, loads)
        for name, queue in zip(names, found, strict=True)
    ]


def _bound_of(queue: Queue) -> Mapping[str, Any]:
    return queue.config.get("backpressure") or {}


def _one(
    queue: Queue,
    depth: Mapping[int, int],
    hour: queries.Counted,
    now: datetime,
    loads: Mapping[str, queries.Load] | None = None,
) -> QueueStats:
    bound = _bound_of(queue)
    is_weighed = loads is not None and "max_size_bytes" in bound
    return QueueStats(
        name=queue.name,
        paused_at=queue.paused_at,
        created_at=queue.created_at,
        jobs={state: depth.get(code, 0) for state, code in CODES.items()},
        completed_last_hour=hour.completed,
        failed_last_hour=hour.failed,
        avg_duration_ms=round(hour.run_ms / hour.completed, 1) if hour.completed else 0.0,
        avg_wait_ms=round(hour.wait_ms / hour.started, 1) if hour.started else 0.0,
        computed_at=now,
        max_depth=bound.get("max_depth"),
        max_size_bytes=bound.get("max_size_bytes"),
        size_bytes=(loads or {}).get(queue.name, queries.Load()).bytes if is_weighed else None,
        config=queue.config,
    )


def totals(by_queue: Depths) -> dict[State, int]:
    """Return how many jobs of all queues there are in each state, from the result of `depths`."""
    sums = dict.fromkeys(CODES.values(), 0)
    for counts in by_queue.values():
        for code, number in counts.items():
            sums[code] += number
    return {state: sums[code] for state, code in CODES.items()}
