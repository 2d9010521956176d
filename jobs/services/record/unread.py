"""Count events whose retention has ended, but that a reader of the record has not read yet.

The log lines and extensions read the record from stored positions (`unread_from`). A reader may
stand still, because its loop fails or does not run. It must neither miss events nor fill the disk.
So its unread events stay until OJS_RETENTION_UNREAD_EVENTS newer events were recorded. After that
the oldest events are removed, counted in `ojs_events_lost_total`. The score of the system falls at
half of the bound.
"""

from jobs import extensions, queries
from jobs.conf import conf
from jobs.extensions import OperationsHooks
from jobs.services.record import log


def unread_from() -> int | None:
    """Return the stamp of the reader that is furthest behind, None without such a reader."""
    readers = extensions.implementers(OperationsHooks.unread_from)
    stamps = [log.unread_from(), *(extension.unread_from() for extension in readers)]
    return min((stamp for stamp in stamps if stamp is not None), default=None)


def unread() -> int:
    """Return about how many events wait for a reader."""
    stamp = unread_from()
    return 0 if stamp is None else queries.unread(stamp)


def fullness() -> float:
    """Return the fraction of the bound that waits for a reader; at 1 and more, events are lost."""
    return unread() / conf().retention_unread_events
