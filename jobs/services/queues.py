"""Queues: pause, resume, list, numbers. Spec: contract 3.5, 10.2, 10.3."""

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
    return _stats(queue)


def pause(name: str, actor: str) -> tuple[QueueStats, datetime]:
    """Stop handing out a queue's jobs, made if unknown; returns it and since when."""
    paused_at, now = queries.pause(name, actor, paused=True)
    return stats(name), paused_at or now


def resume(name: str, actor: str) -> tuple[QueueStats, datetime]:
    """Hand out a queue's jobs again, made if unknown; returns it and the time of the call."""
    _, now = queries.pause(name, actor, paused=False)
    return stats(name), now


def _stats(queue: Queue) -> QueueStats:
    counts = queries.depths([queue.name]).get(queue.name, {})
    completed, failed, started, wait_ms, run_ms = queries.minutes(queue.name, HOUR)
    return QueueStats(
        name=queue.name,
        paused_at=queue.paused_at,
        created_at=queue.created_at,
        jobs={state: counts.get(code, 0) for state, code in CODES.items()},
        completed_last_hour=completed,
        failed_last_hour=failed,
        avg_duration_ms=round(run_ms / completed, 1) if completed else 0.0,
        avg_wait_ms=round(wait_ms / started, 1) if started else 0.0,
        computed_at=timezone.now(),
    )
