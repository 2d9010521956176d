"""Count the future jobs of a type from workflows, to see whether a version is still needed."""

from collections import Counter

from jobs.extensions import FutureProducers
from ojs_tasks.versions import version_said
from workflows import queries

SOURCE = "steps of workflows"


def future_producers(job_type: str, *, looked: int) -> FutureProducers:
    """Count the steps of running workflows without a job, callbacks included, by version."""
    found = queries.future_steps(job_type, looked=looked)
    waiting: Counter[str | int | None] = Counter()
    for one in found:
        if one.is_open:
            waiting[version_said(one.type, one.version, one.option)] += one.steps
    is_cut = sum(one.steps for one in found) >= looked
    return FutureProducers(SOURCE, tuple(waiting.items()), is_cut=is_cut)
