"""Read numbers of the system, queues and tenants, now and over time. Spec: contract 24.3, 32.6.

Numbers of jobs are exact; rates, durations and latencies are as of the last aggregation. A tenant's
numbers are stored separately, so that a caller bound to a tenant sees no other tenant's numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs import queries
from jobs.conf import conf
from jobs.domain.record.latency import percentile
from jobs.domain.record.periods import MINUTE, coarsest
from jobs.domain.states import CODES, State

MINUTES = 5  # a rate is the average of these minutes


@dataclass(frozen=True, slots=True)
class Rates:
    """Averages per minute of the last MINUTES; `failed` counts attempts."""

    enqueued: float = 0.0
    completed: float = 0.0
    failed: float = 0.0
    latency_ms: float = 0.0  # waiting and running, mean


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles in milliseconds of completed jobs."""

    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """The counts of one period that begins at `at`; `failed` counts attempts."""

    at: datetime
    enqueued: int = 0
    completed: int = 0
    failed: int = 0
    mean_ms: float = 0.0
    latency: Latency = Latency()


@dataclass(frozen=True, slots=True)
class Spell:
    """Points of `period_s` seconds from `since` to before `until`, both on whole periods."""

    period_s: int
    since: datetime
    until: datetime


def jobs_by_state(queue: str | None = None, tenant: str | None = None) -> dict[State, int]:
    """Return how many jobs there are in each state."""
    depths = _depths(queue, tenant)
    return {
        state: sum(max(0, numbers.get(code, 0)) for numbers in depths.values())
        for state, code in CODES.items()
    }


def _depths(queue: str | None, tenant: str | None) -> Mapping[str, Mapping[int, int]]:
    if tenant is None:
        return queries.depths(None if queue is None else [queue])
    found = queries.tenant_depths(tenant)
    return found if queue is None else {queue: found.get(queue, {})}


def rates(queue: str | None = None, tenant: str | None = None) -> Rates:
    """Return the present rates per minute."""
    now = queries.now()
    spell = Spell(MINUTE, now - timedelta(minutes=MINUTES), now + timedelta(minutes=1))
    points = _points(spell, queue, tenant)
    completed = sum(point.completed for point in points)
    took = sum(point.mean_ms * point.completed for point in points)
    return Rates(
        round(sum(point.enqueued for point in points) / MINUTES, 2),
        round(completed / MINUTES, 2),
        round(sum(point.failed for point in points) / MINUTES, 2),
        round(took / completed, 1) if completed else 0.0,
    )


def rates_of(queues: Iterable[str], tenant: str | None = None) -> dict[str, Rates]:
    """Return the rates per minute of each queue; idle queues are absent."""
    return {
        name: Rates(
            completed=round(counted.completed / MINUTES, 2),
            failed=round(counted.failed / MINUTES, 2),
            latency_ms=_mean(counted.wait_ms, counted.started)
            + _mean(counted.run_ms, counted.completed),
        )
        for name, counted in queries.minutes(list(queues), MINUTES, tenant).items()
    }


def latencies_of(queues: Iterable[str], minutes: int = 60) -> dict[str, Latency]:
    """Return the latencies of recently completed jobs of each queue; idle queues are absent."""
    return {name: _latency(jobs) for name, jobs in queries.latencies(list(queues), minutes).items()}


def history(spell: Spell, queue: str | None = None, tenant: str | None = None) -> list[Point]:
    """Return a point for every period, with zeros for empty periods."""
    points = {point.at: point for point in _points(spell, queue, tenant)}
    number = round((spell.until - spell.since).total_seconds()) // spell.period_s
    at = [spell.since + timedelta(seconds=spell.period_s * n) for n in range(number)]
    return [points.get(moment) or Point(moment) for moment in at]


def _points(spell: Spell, queue: str | None, tenant: str | None) -> list[Point]:
    """Sum the coarsest counts that fit the points: the finer counts are removed earlier."""
    params: dict[str, Any] = {
        "span_s": coarsest(spell.period_s), "period_s": spell.period_s,
        "since": spell.since, "until": spell.until, "queue": queue,
    }  # fmt: skip
    latencies: Mapping[datetime, Mapping[int, int]] = {}  # not kept by tenant
    if tenant is None:
        latencies = queries.latency_history(params)
    else:
        params["tenant"] = tenant
    return [
        Point(
            span.at,
            span.enqueued,
            span.completed,
            span.failed,
            _mean(span.wait_ms, span.started) + _mean(span.run_ms, span.completed),
            _latency(latencies.get(span.at, {})),
        )
        for span in queries.history(params)
    ]


def _mean(total: float, number: int) -> float:
    return round(total / number, 1) if number else 0.0


def _latency(jobs: Mapping[int, int]) -> Latency:
    return Latency(*(percentile(jobs, share) for share in (0.5, 0.95, 0.99)))


def workers_by_standing(pool: str | None = None) -> dict[str, int]:
    """Return how many workers are running, quiet, terminating and silent."""
    silence_ms = conf().worker_silence_ms
    return queries.standings(
        {"silence_ms": silence_ms, "with_ended": False, "pool": pool, "tenant": None}
    )


def jobs_by_label(most: int) -> list[tuple[str, str, int, int]]:
    """Return jobs by the tenant label of metrics, for `most` tenants, by queue and state code."""
    return queries.label_depths(most)
