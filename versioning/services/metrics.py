"""Metrics of versions, from the database. Spec: contract 22 §6."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

from jobs.extensions import Label
from versioning.models import Held, Route


def families(label: Label) -> Iterable[Metric]:
    """Read how many jobs are held, as of the last look of `held_versions`."""
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
