"""What workflows will send of a type, for who asks whether a version of it is still needed."""

from collections import Counter

from jobs.domain.version import version_said
from jobs.extensions import Sends
from workflows import queries

SOURCE = "steps of workflows"


def sends(job_type: str, *, looked: int) -> Sends:
    """Count the steps of running workflows that have no job yet, callbacks included, by version."""
    found = queries.sends(job_type, looked=looked)
    waiting: Counter[str | int | None] = Counter()
    for one in found:
        if one.is_open:
            waiting[version_said(one.type, one.version, one.option)] += one.steps
    is_cut = sum(one.steps for one in found) >= looked
    return Sends(SOURCE, tuple(waiting.items()), is_cut=is_cut)
