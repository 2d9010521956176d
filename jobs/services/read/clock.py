"""Read the database's clock, the only clock of the server."""

from datetime import datetime

from jobs import queries


def now() -> datetime:
    """Return the database's time; one statement."""
    return queries.now()
