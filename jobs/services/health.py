"""Is the server well: facts for health, readiness and the manifest. Spec: contract 3.8, 32.1."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from time import monotonic, perf_counter

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from jobs import queries
from jobs.conf import conf
from jobs.models import LoopTick

STARTED = monotonic()
SLOW_MS = 1000
STALE_LOOP_MS = 15_000


@dataclass(frozen=True, slots=True)
class Health:
    """The system as seen now; `error` None: the database answered within `latency_ms`."""

    latency_ms: int
    error: str | None
    vitals: queries.Vitals | None

    @property
    def is_slow(self) -> bool:
        """The database takes too long to answer."""
        return self.latency_ms > SLOW_MS

    @property
    def is_ticking(self) -> bool:
        """Every loop did its turn lately: due jobs start, lost ones come back."""
        return self.vitals is not None and self.vitals.is_ticking

    @property
    def is_well(self) -> bool:
        """The server takes jobs, keeps them and starts what is due. Who runs them is not asked.

        Routers send jobs to servers that are well alone, pinned ones too: see ADR 23.
        """
        return self.error is None and self.is_ticking and not self.is_slow


def uptime_seconds() -> int:
    """Return the age of this process."""
    return int(monotonic() - STARTED)


def health() -> Health:
    """Look at the database, workers and loops; one statement."""
    began = perf_counter()
    try:
        vitals = queries.vitals(conf().worker_silence_ms, STALE_LOOP_MS)
    except (DatabaseError, InterfaceError) as problem:
        return Health(0, type(problem).__name__, None)
    return Health(max(1, round((perf_counter() - began) * 1000)), None, vitals)


def forget_loops_except(names: Iterable[str]) -> None:
    """Forget loops that no longer exist, which would look as if they had stopped."""
    LoopTick.objects.exclude(name__in=list(names)).delete()


@cache
def _no_migration_is_missing() -> bool:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise LookupError  # not cached: it may change
    return True


def is_migrated() -> bool:
    """Tell whether the database has this release's tables; asks until it has."""
    try:
        return _no_migration_is_missing()
    except (LookupError, DatabaseError, InterfaceError):
        return False
