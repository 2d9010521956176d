"""Make scheduled and retryable jobs available when they are due. Spec: contract 2.5."""

from jobs import queries

# Each batch starts behind the dead index entries of the batches before it. Larger batches read
# these entries less often. A batch of this size takes a tenth of a second.
BATCH = 5000


def promote(batch: int = BATCH) -> int:
    """Promote one batch of due jobs; returns how many."""
    return queries.promote(batch)


def due_in_ms() -> int | None:
    """Return the milliseconds until the next job is due, None when none waits."""
    return queries.next_due_ms()
