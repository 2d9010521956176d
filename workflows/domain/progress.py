"""How far a workflow is. Spec: contract 29."""

from collections.abc import Sequence


def overall(fractions: Sequence[float]) -> float:
    """Return the share that is done: completed members, and what active ones report of theirs.

    That is (done + current) / total of a chain and the mean of a group; members of a batch seldom
    report, and then it is done / total.
    """
    return round(sum(fractions) / len(fractions), 4) if fractions else 0.0
