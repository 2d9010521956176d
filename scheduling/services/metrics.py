"""Export metrics of pools and dispatches, from the database.

Spec: fair-scheduling 11.2; contract 20.6.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db.models import Sum
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from jobs.domain.record.events import WAIT, WAIT_BOUNDS, Kind
from jobs.domain.record.periods import MINUTE
from jobs.extensions import Label
from jobs.models import Duration, Tally
from jobs.services.health.exposition import MOST_LABELS, Spread
from jobs.services.record import dispatches
from scheduling.domain.pool import DEFAULT
from scheduling.services import pools

PREFIX = "ojs_scheduling_"


def families(label: Label) -> Iterable[Metric]:
    """Read all metrics; counters and histograms are as of the last aggregation."""
    totals = dispatches.totals()
    yield _dispatched(label, totals)
    yield _ratios(label, {queue for queue, _, _ in totals})
    yield _waits(label)
    yield _utilization(label)
    yield _starved(label)


def _dispatched(label: Label, totals: Iterable[tuple[str, str, int]]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}dispatch", "Jobs handed out", labels=["queue", "pool"])
    summed: Counter[tuple[str, str]] = Counter()
    for queue, pool, jobs in totals:  # a worker without a pool is in the default pool
        summed[label("queue", queue), label("pool", pool or DEFAULT)] += jobs
    for (queue, pool), jobs in sorted(summed.items()):
        family.add_metric([queue, pool], jobs)
    return family


def _ratios(label: Label, queues: Iterable[str]) -> Metric:
    started = dispatches.started(MINUTE * 1000)
    total = sum(one.jobs for one in started.values())
    summed = {label("queue", queue): 0 for queue in sorted({*queues, *started})}
    for queue, one in started.items():
        summed[label("queue", queue)] += one.jobs
    ratios = {queue: jobs / total if total else 0.0 for queue, jobs in summed.items()}
    return _gauge("dispatch_ratio", "Part of the last minute's jobs", "queue", ratios)


def _waits(label: Label) -> Metric:
    family = HistogramMetricFamily(
        f"{PREFIX}queue_wait_duration_seconds", "Time from available to active", labels=["queue"]
    )
    spreads: dict[str, Spread] = {}
    rows = Duration.objects.filter(measure=WAIT).values_list("queue", "bucket")
    for queue, bucket, jobs, ms in rows.annotate(Sum("jobs"), Sum("took_ms")).order_by("queue"):
        spread = spreads.setdefault(label("queue", queue), Spread())
        spread.jobs[bucket] += int(jobs)
        spread.seconds += float(ms) / 1000
    for queue, spread in sorted(spreads.items()):
        family.add_metric([queue], spread.cumulative(WAIT_BOUNDS), spread.seconds)
    return family


def _utilization(label: Label) -> Metric:
    """Show the pools that have a cap; beyond MOST_LABELS, a shared label shows the fullest."""
    found: dict[str, float] = {}
    states, _ = pools.page(limit=10 * MOST_LABELS, offset=0)
    for state in states:
        if state.pool.concurrency is not None:
            name = label("pool", state.pool.name)
            used = state.active_jobs / state.pool.concurrency
            found[name] = max(found.get(name, 0), used)
    return _gauge("pool_utilization", "Active jobs by the pool's concurrency", "pool", found)


def _starved(label: Label) -> Metric:
    family = CounterMetricFamily(
        f"{PREFIX}starvation_events", "Times a queue starved", labels=["queue"]
    )
    summed: Counter[str] = Counter()
    rows = Tally.objects.filter(kind=Kind.QUEUE_STARVED).order_by("name")
    for queue, times in rows.values_list("name", "times"):
        summed[label("queue", queue)] += times
    for queue, times in sorted(summed.items()):
        family.add_metric([queue], times)
    return family


def _gauge(name: str, text: str, key: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}{name}", text, labels=[key])
    for label, value in sorted(values.items()):
        family.add_metric([label], value)
    return family
