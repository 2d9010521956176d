"""Summarize the whole system in a few numbers. Spec: contract 32.4."""

from dataclasses import dataclass

from django.db.models import Sum

from jobs import queries
from jobs.conf import conf
from jobs.domain.states import CODES, State
from jobs.models import Total
from jobs.services.health.health import STALE_LOOP_MS

HOUR = 60  # minutes


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals since the beginning, present gauges, rates of the last hour.

    `failed` jobs are jobs discarded after a failure; `latency_ms` is waiting and running.
    """

    enqueued: int
    completed: int
    failed: int
    active: int
    queues: int  # without paused queues
    workers: int  # with heartbeats
    latency_ms: float
    per_second: float


def summary() -> Summary:
    """Read the numbers; four statements, none on a table that grows with the jobs."""
    totals = Total.objects.aggregate(
        enqueued=Sum("enqueued", default=0),
        completed=Sum("completed", default=0),
        failed=Sum("discarded", default=0),
    )
    vitals = queries.vitals(conf().worker_silence_ms, STALE_LOOP_MS)
    hour = [sum(column) for column in zip(*queries.minutes(None, HOUR).values(), strict=True)]
    last = queries.Counted(*hour)
    return Summary(
        **{name: int(number) for name, number in totals.items()},
        active=sum(states.get(CODES[State.ACTIVE], 0) for states in queries.depths().values()),
        queues=vitals.queues - vitals.paused,
        workers=vitals.alive,
        latency_ms=round(
            last.wait_ms / max(1, last.started) + last.run_ms / max(1, last.completed), 1
        ),
        per_second=round(last.completed / (HOUR * 60), 4),
    )
