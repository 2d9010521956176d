"""Remove workflows that ended long ago, with their last job. Spec: contract 10.6, 28.3."""

from collections.abc import Sequence

from workflows import queries
from workflows.domain.limits import AGAIN_MS


def prune(batch: int = 100) -> int:
    """Check one batch of workflows whose time is over; return the number of checked workflows."""
    return queries.prune(batch, AGAIN_MS)


def retained(job_ids: Sequence[str]) -> set[str]:
    """Return the jobs that are members of running workflows and must not be removed."""
    return queries.retained(job_ids)
