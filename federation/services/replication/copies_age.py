"""Remove federation ids older than their window, and copies of jobs that ended long ago."""

from typing import Final

from federation import queries
from federation.conf import conf
from federation.services.routing import placements

BATCH: Final = 1_000


def delete_expired_copies() -> int:
    """Remove one batch of each kind; returns how many rows.

    A copy that arrives again later is stored and removed again.
    """
    chosen = conf()
    keys = queries.forget_keys(chosen.dedupe_window_ms, BATCH)
    placed = placements.delete_expired_placements(BATCH)
    return keys + placed + queries.forget_copies(chosen.copies_retention_ms, BATCH)
