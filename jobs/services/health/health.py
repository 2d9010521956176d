"""Collect facts for health, readiness and the manifest. Spec: contract 3.8, 32.1."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from time import monotonic, perf_counter

from django.db import DatabaseError, InterfaceError

from jobs import connection_pool, queries
from jobs.bounds import answered_within
from jobs.conf import conf
from jobs.connection_pool import is_usable
from jobs.database import connection
from jobs.domain.sqlstates import READ_ONLY
from jobs.gather import Gathering, Later, Outcome
from jobs.models import LoopTick
from jobs.services.storage import schema
from jobs.services.storage.refused import lately
from jobs.trips import Trip

logger = logging.getLogger("ojs.health")
STARTED = monotonic()
SLOW_MS = 1000
PROBE_S = 2.0  # how long health waits for an answer of the database
STALE_LOOP_MS = 15_000


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the system; `error` None: the database answered within `latency_ms`."""

    latency_ms: int
    error: str | None
    vitals: queries.Vitals | None
    writes: str | None = None  # why the database refused to write lately

    @property
    def is_slow(self) -> bool:
        """Whether the database takes too long to answer."""
        return self.latency_ms > SLOW_MS

    @property
    def is_ticking(self) -> bool:
        """Whether every loop ran lately: due jobs start, and lost jobs come back."""
        return self.vitals is not None and self.vitals.is_ticking

    @property
    def is_well(self) -> bool:
        """Whether the server takes jobs, keeps them and starts due jobs. Workers do not count.

        Routers send jobs, also pinned jobs, only to servers that are healthy: see ADR 23.
        """
        is_whole = self.error is None and self.writes is None
        return is_whole and self.is_ticking and not self.is_slow


def uptime_seconds() -> int:
    """Return the age of this process."""
    return int(monotonic() - STARTED)


def health() -> Health:
    """Read the state of the database, workers and loops; one statement."""
    began = perf_counter()
    try:
        with answered_within(PROBE_S):
            vitals = queries.vitals(conf().worker_silence_ms, STALE_LOOP_MS)
    except (DatabaseError, InterfaceError) as problem:
        return _unhealthy(problem)
    if vitals.is_read_only and not connection.in_atomic_block:
        connection.close()  # the next connection may lead to the server that took over
    return _healthy(vitals, began)


def health_soon() -> Later[Health] | Health:
    """Begin to read the health, as `health` does; requests that come together get one answer."""
    if not is_usable():
        return health()

    def finish(outcome: "Outcome[Health]") -> Health:
        try:
            return outcome()
        except (DatabaseError, InterfaceError) as problem:
            return _unhealthy(problem)

    return Later(_looks, None, finish)


def _begin(items: Sequence[None]) -> Trip[list[Health]]:
    began = perf_counter()

    def read(vitals: queries.Vitals) -> list[Health]:
        if vitals.is_read_only:
            connection_pool.close_idle()  # as in `health`
        return [_healthy(vitals, began)] * len(items)

    def finish() -> list[Health]:
        with answered_within(PROBE_S):  # the statement may run only now, or again
            return read(trip.result())

    with answered_within(PROBE_S):
        trip = queries.begin_vitals(conf().worker_silence_ms, STALE_LOOP_MS)
    return Trip(trip.line, finish)


_looks = Gathering(_begin, (DatabaseError, InterfaceError))


def _unhealthy(problem: Exception) -> Health:
    return Health(0, type(problem).__name__, None)


def _healthy(vitals: queries.Vitals, began: float) -> Health:
    if vitals.is_read_only:
        return Health(0, READ_ONLY.message, None)
    return Health(max(1, round((perf_counter() - began) * 1000)), None, vitals, lately())


def forget_loops_except(names: Iterable[str]) -> None:
    """Remove loops that no longer exist, which would look as if they had stopped."""
    LoopTick.objects.exclude(name__in=list(names)).delete()


@cache
def _nothing_is_lacking() -> bool:
    if parts := ", ".join(schema.lacking()):
        _warn(parts)
        raise LookupError(parts)  # not cached: it may change
    return True


@cache  # once for each answer: probes ask every second
def _warn(parts: str) -> None:
    logger.warning("schema.lacking", extra={"parts": parts})


def is_migrated() -> bool | None:
    """Return whether the database has this release's tables and functions; cached once true.

    None: the database does not answer.
    """
    found = lacking()
    return None if found is None else not found


def lacking() -> str | None:
    """Return the parts of this release that the database lacks; cached once it is empty.

    None: the database does not answer.
    """
    try:
        with answered_within(PROBE_S):
            _nothing_is_lacking()
    except LookupError as problem:
        return str(problem)
    except (DatabaseError, InterfaceError):
        return None
    return ""
