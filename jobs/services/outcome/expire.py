"""Discard waiting jobs whose `expires_at` has passed. Spec: contract 2.5."""

from jobs import queries
from jobs.database import atomic
from jobs.services.outcome.follow import follow_discarded
from jobs.services.outcome.promote import BATCH


def expire(batch: int = BATCH) -> int:
    """Discard one batch; returns how many."""
    with atomic():
        expired = queries.discard(batch)
        follow_discarded(expired)
    return len(expired)


def expiry_in_ms() -> int | None:
    """Return the milliseconds until the next waiting job expires, None when none does."""
    return queries.next_expiry_ms()
