"""Events that outlived their retention, but that a reader of the record has yet to read.

The log lines and extensions read the record from stored positions (`unread_from`). One that stands
still, because its loop fails or does not run, must neither miss events nor fill the disk: what it
has not read stays until OJS_RETENTION_UNREAD_EVENTS newer ones were recorded. Beyond that the
oldest go, counted in `ojs_events_lost_total`; the score of the system falls when half of the bound
is reached.
"""

from jobs import extensions, queries
from jobs.conf import conf
from jobs.services.record import log


def unread_from() -> int | None:
    """Return the stamp from which some reader has yet to read, None when nobody waits."""
    stamps = [hook() for hook in (log.unread_from, *extensions.having("unread_from"))]
    return min((stamp for stamp in stamps if stamp is not None), default=None)


def unread() -> int:
    """Return about how many events wait for a reader."""
    stamp = unread_from()
    return 0 if stamp is None else queries.unread(stamp)


def fullness() -> float:
    """Return which part of the bound waits for a reader; 1 and more: events are being lost."""
    return unread() / conf().retention_unread_events
