"""Make scheduled and retryable jobs available when their time comes. Spec: contract 2.5."""

from jobs import queries


def promote(batch: int = 1000) -> int:
    """Move one batch of due jobs; returns how many."""
    return queries.promote(batch)


def due_in_ms() -> int | None:
    """Milliseconds until the next job is due, None when none waits."""
    return queries.next_due_ms()
