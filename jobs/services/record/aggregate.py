"""Aggregate events into counts, off the hot path. See docs/adr/0002-counts-from-events.md."""

from jobs import extensions, queries
from jobs.domain.record.events import RUN_BOUNDS, WAIT_BOUNDS

BATCH = 50_000


def aggregate_events(batch: int = BATCH) -> int:
    """Add one batch of events to depths, totals, minutes and histograms; returns how many.

    The first call ever only sets the start.
    """
    labels = extensions.tenant_labels()
    return queries.aggregate_events(batch, WAIT_BOUNDS, RUN_BOUNDS, labels.most if labels else 0)


def aggregate_unread() -> int:
    """Add one batch of events, if there are any; without events nothing is locked or written."""
    return aggregate_events() if queries.has_unread() else 0
