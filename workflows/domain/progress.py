"""The progress of a workflow. Spec: contract 29."""

from collections.abc import Sequence


def overall(fractions: Sequence[float]) -> float:
    """Return the done share of a workflow: completed members and progress of active members.

    For a chain this is (done + current) / total, for a group the mean. Members of a batch seldom
    report progress; without reports it is done / total.
    """
    return round(sum(fractions) / len(fractions), 4) if fractions else 0.0
