"""Discard waiting jobs whose `expires_at` has passed. Spec: contract 2.5."""

from django.db import transaction

from jobs import queries
from jobs.services.outcome.follow import follow_discarded
from jobs.services.outcome.promote import BATCH


def expire(batch: int = BATCH) -> int:
    """Discard one batch; returns how many."""
    with transaction.atomic():
        expired = queries.discard(batch)
        follow_discarded(expired)
    return len(expired)


def expiry_in_ms() -> int | None:
    """Return the milliseconds until the next waiting job expires, None when none does."""
    return queries.next_expiry_ms()
