"""Lifecycle metrics for Prometheus, from the database: any process answers the same values.

Spec: contract 32.3. Counters are the aggregated totals, histograms the aggregated durations, gauges
the exact depths. No statement reads a table that grows with the number of jobs. If metrics are by
tenant, all of them have the label `tenant_id` (contract 21.6).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic
from typing import Any

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
from jobs.domain.record.events import RUN_BOUNDS, RUN_COMPLETED, RUN_FAILED, WAIT, WAIT_BOUNDS
from jobs.domain.states import State, state_of
from jobs.extensions import OTHER_TENANTS, ReportHooks
from jobs.models import Duration, LoopTick, TenantLabel, Total, Worker
from jobs.services.lanes import limit_metrics
from jobs.services.read import replica
from jobs.services.record.unread import unread

MOST_LABELS = 200  # further types and queues share `_other`
OTHER = "_other"
MOST_SERIES = 10_000  # of one metric: further tenants share OTHER_TENANTS
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

RUN_STATES = {RUN_COMPLETED: "completed", RUN_FAILED: "failed"}
NOBODY = ""  # where metrics are not by tenant
Key = tuple[str, ...]  # values of labels

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
    """Reads all metrics at the scrape."""

    def describe(self) -> Iterable[Metric]:
        return ()  # no check at registration, which would read the database

    def collect(self) -> Iterable[Metric]:
        label, tenants = _capped(), _Tenants.now()
        yield from _counters(label, tenants)
        yield from _durations(label, tenants)
        depths = queries.depths()
        yield from _depths(label, tenants, depths)
        yield from _gauges()
        yield from limit_metrics.families(label, depths)
        yield _stalled(label, tenants)
        yield from _objectives(label)
        for extension in extensions.implementers(ReportHooks.metrics):
            yield from extension.metrics(label)


def _capped() -> Callable[[str, str], str]:
    """Return a function that maps label values: the first MOST_LABELS of a kind keep their name."""
    seen: dict[str, set[str]] = {}

    def name(kind: str, value: str) -> str:
        names = seen.setdefault(kind, set())
        if value not in names and len(names) >= MOST_LABELS:
            return OTHER
        names.add(value)
        return value

    return name


@dataclass(frozen=True, slots=True)
class _Tenants:
    """The label of tenants: its name, if there is one, and the tenants that have values."""

    most: int  # 0: there is no label
    named: frozenset[str] = frozenset()

    @classmethod
    def now(cls) -> "_Tenants":
        """Return the label by the settings, with the first tenants."""
        labels = extensions.tenant_labels()
        if labels is None or not labels.everywhere:
            return cls(0)
        rows = TenantLabel.objects.filter(place__lte=labels.most)
        return cls(labels.most, frozenset(rows.values_list("tenant", flat=True)))

    def names(self, *labels: str) -> list[str]:
        """Return the labels of a metric with the label of tenants."""
        return [*labels, "tenant_id"] if self.most else list(labels)

    def key(self, seen: Mapping[Key, Any], labels: Sequence[str], tenant: str) -> Key:
        """Return the values of these labels; `seen` are the values that the metric has by now."""
        if not self.most:
            return tuple(labels)
        key = (*labels, tenant if tenant in self.named else OTHER_TENANTS)
        if key not in seen and len(seen) >= MOST_SERIES:
            return (*labels, OTHER_TENANTS)
        return key


def _counters(label: Callable[[str, str], str], tenants: _Tenants) -> Iterable[Metric]:
    totals: dict[Key, dict[str, int]] = {}
    columns = [column for _, _, column in COUNTERS]
    rows = Total.objects.order_by("queue", "type", "tenant")
    for queue, kind, tenant, *numbers in rows.values_list("queue", "type", "tenant", *columns):
        key = tenants.key(totals, (label("queue", queue), label("type", kind)), tenant)
        summed = totals.setdefault(key, {})
        for column, number in zip(columns, numbers, strict=True):
            summed[column] = summed.get(column, 0) + number
    for name, text, column in COUNTERS:
        family = CounterMetricFamily(name, text, labels=tenants.names("queue", "type"))
        for key, summed in totals.items():
            family.add_metric(key, summed[column])
        yield family


def _durations(label: Callable[[str, str], str], tenants: _Tenants) -> Iterable[Metric]:
    waits = HistogramMetricFamily(
        "ojs_job_queue_time_seconds",
        "Time from available to active",
        labels=tenants.names("queue", "type"),
    )
    runs = HistogramMetricFamily(
        "ojs_job_duration_seconds",
        "Time an attempt ran",
        labels=tenants.names("queue", "type", "state"),
    )
    spreads = _spreads(label, tenants)
    for key, spread in spreads[WAIT].items():
        waits.add_metric(key, spread.cumulative(WAIT_BOUNDS), spread.seconds)
    for key, spread in spreads[RUN_COMPLETED].items():
        runs.add_metric(key, spread.cumulative(RUN_BOUNDS), spread.seconds)
    yield waits
    yield runs


@dataclass
class Spread:
    """A histogram: jobs by bucket, and the sum of seconds."""

    jobs: Counter[int] = field(default_factory=Counter)
    seconds: float = 0

    def cumulative(self, bounds: tuple[float, ...]) -> list[tuple[str, float]]:
        names = [*(str(float(bound)) for bound in bounds), "+Inf"]
        return list(zip(names, accumulate(self.jobs[n] for n in range(len(names))), strict=True))


def _spreads(label: Callable[[str, str], str], tenants: _Tenants) -> dict[int, dict[Key, Spread]]:
    """Sum waits and runs (each outcome under RUN_COMPLETED) by the values of their labels."""
    found: dict[int, dict[Key, Spread]] = {WAIT: {}, RUN_COMPLETED: {}}
    for row in Duration.objects.order_by("queue", "type", "tenant").values():
        labels = [label("queue", row["queue"]), label("type", row["type"])]
        metric = found[WAIT if row["measure"] == WAIT else RUN_COMPLETED]
        if row["measure"] != WAIT:
            labels.append(RUN_STATES[row["measure"]])
        spread = metric.setdefault(tenants.key(metric, labels, row["tenant"]), Spread())
        spread.jobs[row["bucket"]] += row["jobs"]
        spread.seconds += row["took_ms"] / 1000
    return found


def _depths(
    label: limit_metrics.Label, tenants: _Tenants, depths: limit_metrics.Depths
) -> Iterable[Metric]:
    depth = GaugeMetricFamily(
        "ojs_queue_depth", "Jobs by state", labels=tenants.names("queue", "state")
    )
    busy = GaugeMetricFamily("ojs_workers_busy", "Jobs being run", labels=tenants.names("queue"))
    summed: dict[Key, int] = {}
    for tenant, queue, code, jobs in _held(tenants, depths):
        key = tenants.key(summed, (label("queue", queue), state_of(code).value), tenant)
        summed[key] = summed.get(key, 0) + jobs
    for key, jobs in sorted(summed.items()):
        depth.add_metric(key, jobs)
        if key[1] == State.ACTIVE:
            busy.add_metric([key[0], *key[2:]], jobs)
    yield depth
    yield busy


def _held(tenants: _Tenants, depths: limit_metrics.Depths) -> Iterable[tuple[str, str, int, int]]:
    if tenants.most:
        return queries.label_depths(tenants.most)
    return (
        (NOBODY, queue, code, n) for queue, states in depths.items() for code, n in states.items()
    )


def _gauges() -> Iterable[Metric]:
    alive = Worker.objects.filter(
        dead_at=None, stopped_at=None, last_heartbeat_at__gt=queries.ago(conf().worker_silence_ms)
    ).count()
    yield GaugeMetricFamily("ojs_workers_active", "Workers that heartbeat", value=alive)
    lag = GaugeMetricFamily("ojs_loop_lag_seconds", "Time since a loop last ran", labels=["loop"])
    since = ExpressionWrapper(Now() - F("ticked_at"), output_field=DurationField())
    for name, ago in LoopTick.objects.order_by("name").values_list("name", since):
        lag.add_metric([name], ago.total_seconds())
    yield lag
    yield GaugeMetricFamily(
        "ojs_events_unread", "Events that a reader of the record has yet to read", value=unread()
    )
    if conf().replica_database:
        yield from _of_replica()


def _of_replica() -> Iterable[Metric]:
    found = replica.watch.standing()
    yield GaugeMetricFamily(
        "ojs_replica_usable", "Whether the replica serves reads", value=int(found.is_usable)
    )
    lag_ms = found.lag_ms
    if lag_ms is not None:
        yield GaugeMetricFamily(
            "ojs_replica_lag_seconds", "Lag of the replica, at most", value=lag_ms / 1000
        )


def _objectives(label: limit_metrics.Label) -> Iterable[Metric]:
    """Yield the objectives of queues. Queues beyond the first MOST_LABELS share only counters."""
    target = GaugeMetricFamily(
        "ojs_queue_objective_ratio", "Part of the starts that shall be in time", labels=["queue"]
    )
    within = GaugeMetricFamily(
        "ojs_queue_objective_seconds", "Time in which jobs shall start", labels=["queue"]
    )
    started = CounterMetricFamily(
        "ojs_queue_objective_started", "Starts of a queue with an objective", labels=["queue"]
    )
    late = CounterMetricFamily(
        "ojs_queue_objective_late", "Starts after the time of the objective", labels=["queue"]
    )
    summed: dict[str, tuple[int, int]] = {}
    for queue, objective, starts, lates in queries.objectives():
        name = label("objective", queue)
        before = summed.get(name, (0, 0))
        summed[name] = (before[0] + starts, before[1] + lates)
        if name == queue:
            target.add_metric([name], 1 - objective.budget)
            within.add_metric([name], objective.start_within_ms / 1000)
    for name, (starts, lates) in summed.items():
        started.add_metric([name], starts)
        late.add_metric([name], lates)
    yield from (target, within, started, late)


def _stalled(label: Callable[[str, str], str], tenants: _Tenants) -> Metric:
    family = GaugeMetricFamily(
        "ojs_progress_stalled_jobs",
        "Running jobs that stopped reporting",
        labels=tenants.names("queue"),
    )
    summed: Counter[Key] = Counter()
    for (queue, tenant), jobs in queries.stalled(MOST_STALLED).items():
        summed[tenants.key(summed, [label("queue", queue)], tenant)] += jobs
    for key, jobs in summed.items():
        family.add_metric(key, jobs)
    return family
