"""Let jobs cost their tenants by how long they ran. Spec: contract 20.4 (`cost`: `duration`).

A claim charges a lane one job; what its duration makes of that is added when the attempt has ended,
from the record of events. So an ACK takes no lane and no statement more, and an attempt is charged
exactly once, whatever is killed when. It counts a turn of the loop later, and behind the oldest
running transaction, as everything that is read from the record. See docs/adr/0012.
"""

from collections.abc import Collection

from jobs import queries
from jobs.models import Charge

BATCH = 2_000  # events at a time: their lanes are locked meanwhile
MEMORY = 1_000  # attempts that the mean duration of a queue is of, about


def charge(queues: Collection[str]) -> int:
    """Charge what has ended in `queues`, and begin or stop to do so.

    Returns how many attempts; BATCH at least when more wait.
    """
    followed = set(Charge.objects.values_list("queue", flat=True))
    if followed != set(queues):
        queries.charge_queues(sorted(queues))
    if not queues:
        return 0
    attempts, has_more = queries.charge(BATCH, MEMORY)
    return max(attempts, BATCH) if has_more else attempts


def unread_from() -> int | None:
    """Return the stamp from which on attempts are yet to be charged, None when none ever are."""
    stamps = Charge.objects.values_list("stamp", flat=True)
    return min((int(stamp) for stamp in stamps), default=None)
