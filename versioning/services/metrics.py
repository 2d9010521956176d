"""Export metrics of versions, from the database. Spec: contract 22.6."""

from collections import Counter
from collections.abc import Iterable

from django.db.models import Count
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from jobs.extensions import Label
from versioning.models import Held, Rollback, Route
from versioning.services import routes
from versioning.services.outcomes import started

MOST_VERSIONS, OTHER = 50, "_other"  # of a type, by attempts


def families(label: Label) -> Iterable[Metric]:
    """Read all metrics; held jobs are as of the last look of `held_versions`."""
    held = dict(Held.objects.values_list("route", "jobs"))
    types = dict(Route.objects.filter(id__in=held).values_list("id", "type"))
    summed: Counter[str] = Counter()
    for route, jobs in held.items():
        if route in types:
            summed[label("type", types[route])] += jobs
    family = GaugeMetricFamily(
        "ojs_version_held_jobs", "Jobs whose version no live worker accepts", labels=["type"]
    )
    for job_type, jobs in sorted(summed.items()):
        family.add_metric([job_type], jobs)
    yield family
    yield from _routed(label)
    rollbacks = CounterMetricFamily(
        "ojs_version_rollbacks", "Versions that were rolled back", labels=["type"]
    )
    for job_type, number in sorted(_rollbacks(label).items()):
        rollbacks.add_metric([job_type], number)
    yield rollbacks


def _routed(label: Label) -> Iterable[Metric]:
    """Label the versions with the most attempts of a type; the rest share a label."""
    family = CounterMetricFamily(
        "ojs_version_routed",
        "Attempts handed out, by the version whose workers got them",
        labels=["type", "version"],
    )
    found = started(routes.latest())
    summed: Counter[tuple[str, str]] = Counter()
    versions: Counter[str] = Counter()
    for (job_type, version), jobs in sorted(found.items(), key=lambda one: (-one[1], one[0])):
        versions[job_type] += 1
        shown = str(version) if versions[job_type] <= MOST_VERSIONS else OTHER
        summed[label("type", job_type), shown] += jobs
    for labels, jobs in sorted(summed.items()):
        family.add_metric(labels, jobs)
    yield family


def _rollbacks(label: Label) -> Counter[str]:
    found = Rollback.objects.values_list("type").annotate(Count("id")).order_by("type")
    summed: Counter[str] = Counter()
    for job_type, number in found:
        summed[label("type", job_type)] += number
    return summed
