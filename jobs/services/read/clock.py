"""The one clock: the database's."""

from datetime import datetime

from jobs import queries


def now() -> datetime:
    """Return the database's time; one statement."""
    return queries.now()
