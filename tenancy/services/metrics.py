"""Export metrics of tenants, from the database. Spec: MT 11.2, 15.4, contract 21.6.

Active and waiting jobs are exact, counters are as of the last aggregation, shares are of the last
minutes. Tenants without labels of their own are `_other`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db.models import Sum
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from jobs.domain.states import CODES, State
from jobs.extensions import OTHER_TENANTS, Label
from jobs.models import TenantLabel, Total
from jobs.services.record.rates import jobs_by_label
from tenancy import queries
from tenancy.conf import conf
from tenancy.services.stats import SHARE_MINUTES

LABELS = ("tenant_id", "queue")
MOST_SERIES = 10_000  # of one metric: tenants beyond are `_other`, too
ACTIVE = CODES[State.ACTIVE]
WAITING = {CODES[State.AVAILABLE], CODES[State.SCHEDULED]}  # bounded by `max_queue_depth`
COUNTERS = (
    ("ojs_tenant_jobs_enqueued", "Jobs accepted", ("enqueued",)),
    ("ojs_tenant_jobs_processed", "Jobs that a run ended", ("completed", "discarded")),
    ("ojs_tenant_jobs_failed", "Jobs discarded after a failure", ("discarded",)),
)
Key = tuple[str, str]


def families(label: Label) -> Iterable[Metric]:
    """Read all metrics; none while tenants are disabled."""
    if not conf().enabled:
        return
    named = set(
        TenantLabel.objects.filter(place__lte=conf().metrics_max).values_list("tenant", flat=True)
    )
    yield from _held(label)
    yield from _counted(label, named)
    yield _shares(named)


def _held(label: Label) -> Iterable[Metric]:
    active: Counter[Key] = Counter()
    waiting: Counter[Key] = Counter()
    for tenant, queue, state, jobs in jobs_by_label(conf().metrics_max):
        if state == ACTIVE:
            active[_key(active, tenant, label("queue", queue))] += jobs
        elif state in WAITING:
            waiting[_key(waiting, tenant, label("queue", queue))] += jobs
    for name, text, found in (
        ("ojs_tenant_jobs_active", "Jobs being run", active),
        ("ojs_tenant_queue_depth", "Available and scheduled jobs", waiting),
    ):
        family = GaugeMetricFamily(name, text, labels=LABELS)
        _fill(family, found)
        yield family


def _counted(label: Label, named: set[str]) -> Iterable[Metric]:
    columns = sorted({column for *_, columns in COUNTERS for column in columns})
    rows = list(
        Total.objects.order_by("queue", "tenant")
        .values_list("queue", "tenant")
        .annotate(*[Sum(column) for column in columns])
    )
    for name, text, summed in COUNTERS:
        found: Counter[Key] = Counter()
        for queue, tenant, *numbers in rows:
            shown = tenant if tenant in named else OTHER_TENANTS
            counts = dict(zip(columns, numbers, strict=True))
            jobs = sum(counts[column] for column in summed)
            found[_key(found, shown, label("queue", queue))] += jobs
        family = CounterMetricFamily(name, text, labels=LABELS)
        _fill(family, found)
        yield family


def _shares(named: set[str]) -> Metric:
    started: Counter[str] = Counter()
    for tenant, jobs in queries.started(SHARE_MINUTES):
        started[tenant if tenant in named else OTHER_TENANTS] += jobs
    family = GaugeMetricFamily(
        "ojs_tenant_fairness_share", "Part of the starts of the last minutes", labels=LABELS[:1]
    )
    whole = started.total()
    for tenant, jobs in sorted(started.items()):
        family.add_metric([tenant], jobs / whole if whole else 0.0)
    return family


def _key(seen: Mapping[Key, int], tenant: str, queue: str) -> Key:
    """Return the key of a series; beyond the limit of series, the key of `_other`."""
    key = (tenant, queue)
    return key if key in seen or len(seen) < MOST_SERIES else (OTHER_TENANTS, queue)


def _fill(family: GaugeMetricFamily | CounterMetricFamily, found: Mapping[Key, int]) -> None:
    for key, jobs in sorted(found.items()):
        family.add_metric(list(key), jobs)
