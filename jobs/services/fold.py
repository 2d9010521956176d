"""Turn events into counts, off the hot path. See docs/adr/0002-counts-from-events.md."""

from jobs import queries
from jobs.domain.events import RUN_BOUNDS, WAIT_BOUNDS

BATCH = 20_000


def fold(batch: int = BATCH) -> int:
    """Add one batch of events to depths, totals, minutes and histograms; returns how many.

    The first call ever only places the start.
    """
    return queries.fold(batch, WAIT_BOUNDS, RUN_BOUNDS)
