"""Make scheduled and retryable jobs available when their time comes. Spec: contract 2.5."""

from jobs import queries

# Each batch finds its start behind the entries of those before it, which are dead and still there:
# in larger batches that is done less often. One of this size takes a tenth of a second.
BATCH = 5000


def promote(batch: int = BATCH) -> int:
    """Move one batch of due jobs; returns how many."""
    return queries.promote(batch)


def due_in_ms() -> int | None:
    """Milliseconds until the next job is due, None when none waits."""
    return queries.next_due_ms()
