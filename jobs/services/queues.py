"""Queues: pause, resume, list, numbers. Spec: contract 3.5, 10.2, 10.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from jobs import queries
from jobs.domain.errors import NotFound
from jobs.domain.states import CODES, State
from jobs.models import Queue

HOUR = 60  # minutes


@dataclass(frozen=True, slots=True)
class QueueStats:
    """One queue; `jobs` by state, exact at `computed_at`, the last hour as of the last fold."""

    name: str
    paused_at: datetime | None
    created_at: datetime
    jobs: dict[State, int]
    completed_last_hour: int
    failed_last_hour: int
    avg_duration_ms: float
    avg_wait_ms: float
    computed_at: datetime


def queues(*, limit: int, offset: int) -> tuple[list[Queue], int]:
    """List queues by name; returns a page and the total."""
    return list(Queue.objects.all()[offset : offset + limit]), Queue.objects.count()


def stats(name: str) -> QueueStats:
    """Return the numbers of a queue. Raises NotFound."""
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise NotFound.of("queue", name)
    return _stats([queue])[0]


def all_stats(*, limit: int, containing: str = "") -> list[QueueStats]:
    """Return the numbers of queues by name; three statements however many there are."""
    return _stats(list(Queue.objects.filter(name__icontains=containing)[:limit]))


def pause(name: str, actor: str) -> tuple[QueueStats, datetime]:
    """Stop handing out a queue's jobs, made if unknown; returns it and since when."""
    paused_at, now = queries.pause(name, actor, paused=True)
    return stats(name), paused_at or now


def resume(name: str, actor: str) -> tuple[QueueStats, datetime]:
    """Hand out a queue's jobs again, made if unknown; returns it and the time of the call."""
    _, now = queries.pause(name, actor, paused=False)
    return stats(name), now


def _stats(found: list[Queue]) -> list[QueueStats]:
    names = [str(queue.name) for queue in found]
    depths, counted = queries.depths(names), queries.minutes(names, HOUR)
    now = timezone.now()
    return [
        _one(queue, depths.get(name, {}), counted.get(name, queries.Counted()), now)
        for name, queue in zip(names, found, strict=True)
    ]


def _one(
    queue: Queue, depth: Mapping[int, int], hour: queries.Counted, now: datetime
) -> QueueStats:
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
    )


def totals() -> dict[State, int]:
    """Return how many jobs there are in each state, over all queues; exact."""
    sums = dict.fromkeys(CODES.values(), 0)
    for counts in queries.depths().values():
        for code, number in counts.items():
            sums[code] += number
    return {state: sums[code] for state, code in CODES.items()}
