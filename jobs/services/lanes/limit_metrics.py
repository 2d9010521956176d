"""Metrics of limits and of bounded queues, from the database. Spec: contract 27, 32.3.

Limits of one key are added up over tenants. Limits of queues and types have the names of the API.
Reached limits are counted once a second at most, since their event comes at most once a second.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from jobs import queries
from jobs.domain.lanes.limits import OF_QUEUE
from jobs.domain.lanes.queues import policy_of
from jobs.domain.record.events import WAIT_BOUNDS, Kind
from jobs.domain.states import CODES, State
from jobs.models import Limit, LimitWait, Queue, Tally
from jobs.services.lanes.limits import PREFIXES

MOST_WAITING = 10_000  # counted in each lane
AVAILABLE = CODES[State.AVAILABLE]
Label = Callable[[str, str], str]
Depths = Mapping[str, Mapping[int, int]]


def families(label: Label, depths: Depths) -> Iterable[Metric]:
    """Read all metrics; `depths` by queue and state."""
    yield from _loads(label, depths)
    yield _waits(label)
    yield from _event_totals(label)
    yield _pressure(label)


def _loads(label: Label, depths: Depths) -> Iterable[Metric]:
    active: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for kind, key, running, held in queries.limit_loads(MOST_WAITING):
        name = label("key", PREFIXES[kind] + key)
        active[name] += running
        waiting[name] += depths.get(key, {}).get(AVAILABLE, 0) if kind == OF_QUEUE else held
    yield _gauge("ojs_rate_limit_active", "Running jobs of a limit", "key", active)
    yield _gauge("ojs_rate_limit_waiting", "Available jobs of a limit", "key", waiting)


def _waits(label: Label) -> Metric:
    family = HistogramMetricFamily(
        "ojs_rate_limit_wait_duration_seconds",
        "Time from available to active of jobs of a limit",
        labels=["key"],
    )
    names = {
        limit.id: PREFIXES[limit.kind] + limit.key
        for limit in Limit.objects.filter(kind__in=PREFIXES).order_by("kind", "key")
    }
    jobs: dict[str, Counter[int]] = {}
    took: Counter[str] = Counter()
    rows = LimitWait.objects.filter(limit_id__in=names)
    for limit, bucket, number, ms in rows.values_list("limit_id", "bucket", "jobs", "took_ms"):
        name = label("key", names[limit])
        jobs.setdefault(name, Counter())[bucket] += number
        took[name] += ms
    bounds = [*(str(float(bound)) for bound in WAIT_BOUNDS), "+Inf"]
    for name, spread in sorted(jobs.items()):
        cumulative = accumulate(spread[n] for n in range(len(bounds)))
        family.add_metric([name], list(zip(bounds, cumulative, strict=True)), took[name] / 1000)
    return family


def _event_totals(label: Label) -> Iterable[Metric]:
    exceeded: Counter[tuple[str, ...]] = Counter()
    rejected: Counter[tuple[str, ...]] = Counter()
    dropped: Counter[tuple[str, ...]] = Counter()
    rows = Tally.objects.filter(kind__in=[Kind.LIMIT_EXCEEDED, Kind.BP_REJECTED, Kind.BP_DROPPED])
    for kind, name, detail, times in rows.order_by("kind", "name").values_list(
        "kind", "name", "detail", "times"
    ):
        if kind == Kind.LIMIT_EXCEEDED:
            exceeded[label("key", name), detail] += times
        else:
            (rejected if kind == Kind.BP_REJECTED else dropped)[(label("queue", name),)] += times
    for metric, text, labels, counted in (
        ("ojs_rate_limit_exceeded", "Times a limit was reached", ["key", "strategy"], exceeded),
        ("ojs_backpressure_rejected", "Requests refused by a bound", ["queue"], rejected),
        ("ojs_backpressure_dropped", "Jobs discarded to make room", ["queue"], dropped),
    ):
        family = CounterMetricFamily(metric, text, labels=labels)
        for values, times in sorted(counted.items()):
            family.add_metric(list(values), times)
        yield family


def _pressure(label: Label) -> Metric:
    bounds = {
        str(queue.name): bound
        for queue in Queue.objects.filter(config__has_key="backpressure")
        if (bound := policy_of(queue.config).bound) is not None
    }
    loads = queries.loads(list(bounds)) if bounds else {}
    ratios: dict[str, float] = {}
    for name, bound in bounds.items():
        load = loads.get(name, queries.Load())
        shown = label("queue", name)  # of several bounds, the bound under most pressure
        ratios[shown] = max(ratios.get(shown, 0), bound.tightest(load.jobs, load.bytes).ratio)
    return _gauge("ojs_backpressure_pressure", "Used part of a queue's bound", "queue", ratios)


def _gauge(name: str, text: str, key: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[key])
    for label, value in sorted(values.items()):
        family.add_metric([label], value)
    return family
