"""Charge lanes by the run time of their jobs. Spec: contract 20.4 (`cost`: `duration`).

A claim charges a lane for one job. The difference to the run time is charged after the attempt has
ended, from the event record. So an ACK takes no lane and no further statement, and each attempt is
charged exactly once, even after a crash. The charge follows one run of the loop later, and only
behind the oldest running transaction. See docs/adr/0012.
"""

from collections.abc import Collection

from jobs import queries
from jobs.models import Charge

BATCH = 2_000  # events at a time: their lanes stay locked for the batch
MEMORY = 1_000  # the mean duration of a queue covers about this many attempts


def charge(queues: Collection[str]) -> int:
    """Charge attempts that have ended in `queues`, and follow changes of this set.

    Returns how many attempts; at least BATCH when more wait.
    """
    followed = set(Charge.objects.values_list("queue", flat=True))
    if followed != set(queues):
        queries.charge_queues(sorted(queues))
    if not queues:
        return 0
    attempts, has_more = queries.charge(BATCH, MEMORY)
    return max(attempts, BATCH) if has_more else attempts


def unread_from() -> int | None:
    """Return the stamp behind which attempts are not charged yet, None if none is charged."""
    stamps = Charge.objects.values_list("stamp", flat=True)
    return min((int(stamp) for stamp in stamps), default=None)
