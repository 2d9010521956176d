"""Compare the counts of live jobs with the jobs, and correct and report drift.

Counts are sums of events (docs/adr/0002-counts-from-events.md), so a wrong count stays wrong.
Numbers of ended jobs and totals could only be compared with the whole history, which is not read.
"""

import logging
from collections import Counter

from jobs import extensions, queries
from jobs.database import atomic
from jobs.extensions import OperationsHooks
from jobs.metrics import observe_drifts
from jobs.queries import Drift

logger = logging.getLogger("ojs.reconcile")

MOST_SIZED = 100_000  # waiting jobs whose sizes the loop reads, one row each
MOST_LOGGED = 10  # drifts that a log line names


def reconcile(most_sized: int | None = None) -> list[Drift]:
    """Find the counts that differ from the jobs and correct them; returns the drifts.

    It may run at any time, while jobs move; two calls run one after the other. The sizes of queues
    are left out where `most_sized` jobs wait or more.
    """
    with atomic():
        # a concurrent call must correct its drifts before this call reads them
        queries.lock_counts()
        found = [*queries.drifts(), *queries.size_drifts(most_sized)]
        if found:
            queries.amend(found)
    _report(found)
    return found


def reconcile_once() -> int:
    """Reconcile as the loop does; returns how many counts were wrong (0 is healthy)."""
    return len(reconcile(MOST_SIZED))


def _report(found: list[Drift]) -> None:
    tables = Counter(drift.table for drift in found)
    observe_drifts(tables)
    if found:
        for extension in extensions.implementers(OperationsHooks.counts_drifted):
            extension.counts_drifted(tables)
        named = [drift._asdict() for drift in found[:MOST_LOGGED]]
        logger.error("counts.drifted", extra={"count": len(found), "drifts": named})
