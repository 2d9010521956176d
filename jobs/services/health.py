"""Is the server well: facts for health, readiness and the manifest. Spec: contract 3.8, 32.1."""

from dataclasses import dataclass
from time import monotonic

from django.db import DatabaseError, InterfaceError

from jobs import queries

STARTED = monotonic()


@dataclass(frozen=True, slots=True)
class BackendHealth:
    """The database as seen now; `error` None: it answered within `latency_ms`."""

    latency_ms: int
    error: str | None


def uptime_seconds() -> int:
    """Return the age of this process."""
    return int(monotonic() - STARTED)


def backend_health() -> BackendHealth:
    """Ask the database for a sign of life."""
    try:
        return BackendHealth(max(1, round(queries.ping())), None)
    except (DatabaseError, InterfaceError) as problem:
        return BackendHealth(0, type(problem).__name__)
