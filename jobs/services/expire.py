"""Discard waiting jobs whose `expires_at` has passed. Spec: contract 2.5."""

from jobs import queries


def expire(batch: int = 1000) -> int:
    """Discard one batch; returns how many."""
    return queries.discard(batch)
