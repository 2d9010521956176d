"""Discard available jobs because of a bound or a limit. Spec: contract 27."""

from collections.abc import Sequence

from jobs import queries
from jobs.database import atomic
from jobs.domain.record.events import Kind
from jobs.services.outcome.follow import follow_discarded


def drop(ids: Sequence[str], code: str, message: str, kind: Kind) -> int:
    """Discard the jobs of `ids` that are still available; returns how many were."""
    with atomic():
        dropped = queries.drop(ids, code, message, kind)
        follow_discarded(dropped)
    return len(dropped)
