"""Remove workflows that ended long ago, with their last job. Spec: contract 10.6, 28.3."""

from collections.abc import Sequence

from workflows import queries
from workflows.domain.limits import AGAIN_MS


def prune(batch: int = 100) -> int:
    """Look at one batch of workflows whose time is over; returns how many."""
    return queries.prune(batch, AGAIN_MS)


def retained(job_ids: Sequence[str]) -> set[str]:
    """Return those jobs that are members of workflows that run: they must not be removed."""
    return queries.retained(job_ids)
