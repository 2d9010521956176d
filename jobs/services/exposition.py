"""Lifecycle metrics for Prometheus, from the database: any process answers the same values.

Spec: contract 32.3. Counters are the folded totals, histograms the folded durations, gauges the
exact depths; nothing here reads a table that grows with the number of jobs.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from jobs import extensions, queries
from jobs.conf import conf
from jobs.domain.events import RUN_BOUNDS, RUN_COMPLETED, RUN_FAILED, WAIT, WAIT_BOUNDS
from jobs.domain.states import state_of
from jobs.models import Duration, LoopTick, Total, Worker
from jobs.services import limit_metrics
from jobs.services.unread import unread

MOST_LABELS = 200  # types and queues beyond share `_other`
OTHER = "_other"
CACHE_S = 5.0
MOST_STALLED = 10_000

COUNTERS = (
    ("ojs_job_enqueued", "Jobs accepted", "enqueued"),
    ("ojs_job_completed", "Jobs completed", "completed"),
    ("ojs_job_failed", "Jobs discarded after a failure", "discarded"),
    ("ojs_job_retried", "Attempts that will be retried", "retried"),
    ("ojs_job_cancelled", "Jobs cancelled", "cancelled"),
    ("ojs_job_expired", "Jobs that expired", "expired"),
)

_cached: list[tuple[float, bytes]] = []


def exposition() -> bytes:
    """Return the metrics as Prometheus text, at most CACHE_S old."""
    now = monotonic()
    if not _cached or now - _cached[0][0] > CACHE_S:
        registry = CollectorRegistry()
        registry.register(_Collector())
        _cached[:] = [(now, generate_latest(registry))]
    return _cached[0][1]


class _Collector:
    """Reads everything at the scrape."""

    def describe(self) -> Iterable[Metric]:
        return ()  # nothing to check at registration, which would read the database

    def collect(self) -> Iterable[Metric]:
        label = _capped()
        yield from _counters(label)
        yield from _durations(label)
        depths = queries.depths()
        yield from _gauges(label, depths)
        yield from limit_metrics.families(label, depths)
        yield _stalled(label)
        for hook in extensions.having("metrics"):
            yield from hook(label)


def _capped() -> Callable[[str, str], str]:
    """Return a function that names a label value, the first MOST_LABELS of a kind by name."""
    seen: dict[str, set[str]] = {}

    def name(kind: str, value: str) -> str:
        known = seen.setdefault(kind, set())
        if value not in known and len(known) >= MOST_LABELS:
            return OTHER
        known.add(value)
        return value

    return name


def _counters(label: Callable[[str, str], str]) -> Iterable[Metric]:
    totals: dict[tuple[str, str], dict[str, int]] = {}
    columns = [column for _, _, column in COUNTERS]
    rows = Total.objects.order_by("queue", "type").values_list("queue", "type", *columns)
    for queue, kind, *numbers in rows:
        summed = totals.setdefault((label("queue", queue), label("type", kind)), {})
        for column, number in zip(columns, numbers, strict=True):
            summed[column] = summed.get(column, 0) + number
    for name, text, column in COUNTERS:
        family = CounterMetricFamily(name, text, labels=["queue", "type"])
        for key, summed in totals.items():
            family.add_metric(key, summed[column])
        yield family


def _durations(label: Callable[[str, str], str]) -> Iterable[Metric]:
    waits = HistogramMetricFamily(
        "ojs_job_queue_time_seconds", "Time from available to active", labels=["queue", "type"]
    )
    runs = HistogramMetricFamily(
        "ojs_job_duration_seconds", "Time an attempt ran", labels=["queue", "type", "state"]
    )
    states = {RUN_COMPLETED: "completed", RUN_FAILED: "failed"}
    for (measure, queue, kind), spread in _spreads(label).items():
        if measure == WAIT:
            waits.add_metric([queue, kind], spread.cumulative(WAIT_BOUNDS), spread.seconds)
        else:
            labels = [queue, kind, states[measure]]
            runs.add_metric(labels, spread.cumulative(RUN_BOUNDS), spread.seconds)
    yield waits
    yield runs


@dataclass
class Spread:
    """How many took how long: jobs by bucket, and the seconds of all."""

    jobs: Counter[int] = field(default_factory=Counter)
    seconds: float = 0

    def cumulative(self, bounds: tuple[float, ...]) -> list[tuple[str, float]]:
        names = [*(str(float(bound)) for bound in bounds), "+Inf"]
        return list(zip(names, accumulate(self.jobs[n] for n in range(len(names))), strict=True))


def _spreads(label: Callable[[str, str], str]) -> dict[tuple[int, str, str], Spread]:
    found: dict[tuple[int, str, str], Spread] = {}
    for row in Duration.objects.order_by("queue", "type").values():
        key = (row["measure"], label("queue", row["queue"]), label("type", row["type"]))
        spread = found.setdefault(key, Spread())
        spread.jobs[row["bucket"]] += row["jobs"]
        spread.seconds += row["took_ms"] / 1000
    return found


def _gauges(label: limit_metrics.Label, depths: limit_metrics.Depths) -> Iterable[Metric]:
    depth = GaugeMetricFamily("ojs_queue_depth", "Jobs by state", labels=["queue", "state"])
    summed: dict[tuple[str, str], int] = {}
    for queue, states in depths.items():
        for code, jobs in states.items():
            key = (label("queue", queue), state_of(code).value)
            summed[key] = summed.get(key, 0) + jobs
    for key, jobs in sorted(summed.items()):
        depth.add_metric(key, jobs)
    yield depth
    alive = Worker.objects.filter(
        dead_at=None, stopped_at=None, last_heartbeat_at__gt=queries.ago(conf().worker_silence_ms)
    ).count()
    yield GaugeMetricFamily("ojs_workers_active", "Workers that heartbeat", value=alive)
    busy = GaugeMetricFamily("ojs_workers_busy", "Jobs being run", labels=["queue"])
    for (queue, state), jobs in sorted(summed.items()):
        if state == "active":
            busy.add_metric([queue], jobs)
    yield busy
    lag = GaugeMetricFamily(
        "ojs_loop_lag_seconds", "Time since a loop said it turns", labels=["loop"]
    )
    since = ExpressionWrapper(Now() - F("ticked_at"), output_field=DurationField())
    for name, ago in LoopTick.objects.order_by("name").values_list("name", since):
        lag.add_metric([name], ago.total_seconds())
    yield lag
    yield GaugeMetricFamily(
        "ojs_events_unread", "Events that a reader of the record has yet to read", value=unread()
    )


def _stalled(label: Callable[[str, str], str]) -> Metric:
    family = GaugeMetricFamily(
        "ojs_progress_stalled_jobs", "Running jobs that stopped reporting", labels=["queue"]
    )
    summed: Counter[str] = Counter()
    for queue, jobs in queries.stalled(MOST_STALLED).items():
        summed[label("queue", queue)] += jobs
    for queue, jobs in summed.items():
        family.add_metric([queue], jobs)
    return family
