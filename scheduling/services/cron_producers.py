"""Count the schedules that will send jobs of a type, to check if a version is still needed."""

from collections import Counter

from jobs.extensions import FutureProducers
from ojs_tasks.versions import version_said
from scheduling import queries

SOURCE = "schedules"


def future_producers(job_type: str, *, looked: int) -> FutureProducers:
    """Count schedules by version; disabled schedules send nothing until they are enabled."""
    found = queries.count_schedules(job_type, looked=looked)
    enabled: Counter[str | int | None] = Counter()
    disabled: Counter[str | int | None] = Counter()
    for one in found:
        version = version_said(one.type, one.version, one.option)
        (enabled if one.is_enabled else disabled)[version] += one.schedules
    is_cut = sum(one.schedules for one in found) >= looked
    return FutureProducers(SOURCE, tuple(enabled.items()), tuple(disabled.items()), is_cut)
