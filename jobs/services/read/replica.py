"""Reads from a replica: a hot standby serves lists, searches, statistics and exports.

A read that decides anything stays with the database itself, and so does a read of one job. The
replica must be a standby of the same cluster, at most `replica_max_lag_ms` behind. Otherwise, and
when one of its statements fails, the database itself serves the read. See docs/replicas.md.
"""

import logging
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Final, TypeVar

from django.db import Error, connections

from jobs import caches, queries
from jobs.conf import conf
from jobs.database import reading_from
from jobs.domain.errors import NotFound
from jobs.metrics import observe_replica_read

T = TypeVar("T")
LOOK_S: Final = 1.0  # between two looks at the replica, per process
DOWN_S: Final = 5.0  # after a failure
SAMPLES: Final = 120  # of the database's WAL: the longest lag that is known exactly, in looks

log = logging.getLogger("ojs.replica")
_lag_ms: ContextVar[int | None] = ContextVar("lag_ms", default=None)


@dataclass(frozen=True, slots=True)
class Standing:
    """The outcome of the last look at the replica."""

    behind_ms: int | None  # at the time of the look; None: it cannot serve reads
    why: str = ""  # it cannot
    at: float = 0.0  # of the look, by the monotonic clock

    @property
    def lag_ms(self) -> int | None:
        """How old its data is now, at most; None: it cannot serve reads."""
        if self.behind_ms is None:
            return None
        return self.behind_ms + int((monotonic() - self.at) * 1000)

    @property
    def is_usable(self) -> bool:
        """Whether the replica may serve reads."""
        lag_ms = self.lag_ms
        return lag_ms is not None and lag_ms <= conf().replica_max_lag_ms


class Watch:
    """Compares the WAL of the database with that of the replica, at most every LOOK_S."""

    def __init__(self) -> None:
        """Start without a look."""
        self._lock = Lock()  # held during a look; other threads take the last standing
        self._samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES)  # when, end of the WAL
        self.forget()

    def forget(self) -> None:
        """Forget all looks, as after the database was replaced."""
        self._samples.clear()
        self._note(Standing(None, "it was not asked yet"), 0.0)

    def standing(self) -> Standing:
        """Return the standing of the replica, after a look where one is due."""
        if monotonic() >= self._next and self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._standing

    def failed(self, problem: Exception) -> None:
        """Note that a statement failed, and close the connection of this thread."""
        log.warning("the replica failed, the database itself serves the read: %s", problem)
        connections[conf().replica_database].close()
        self._note(Standing(None, "its last statement failed"), DOWN_S)

    def _look(self) -> None:
        try:
            with reading_from(None):
                began, main = monotonic(), queries.wal_written()
        except Error:  # the request itself meets the outage of the database
            self._note(Standing(None, "the database itself does not answer"), LOOK_S)
            return
        self._samples.append((began, main.written))
        try:
            with reading_from(conf().replica_database):
                found = queries.wal_replayed()
        except Error as problem:
            self.failed(problem)
            return
        self._note(self._judged(main, found), LOOK_S)

    def _judged(self, main: queries.Written, found: queries.Replayed) -> Standing:
        if found.cluster != main.cluster:
            return Standing(None, "it is a replica of another database")
        if found.replayed is None:
            return Standing(None, "it is no standby: it may have been promoted")
        if found.timeline != main.timeline:  # its WAL may have commits that the failover has lost
            return Standing(None, "it has not joined the database since the last failover")
        at = self._written_at(found.replayed)
        if at is not None:
            return Standing(0, at=at)
        if found.commit_age_ms is None:
            return Standing(None, "it has replayed nothing yet")
        return Standing(max(0, found.commit_age_ms), at=monotonic())

    def _written_at(self, replayed: int) -> float | None:
        """Return a time whose commits the replica has; None: it lacks those of all samples."""
        return next((at for at, end in reversed(self._samples) if end <= replayed), None)

    def _note(self, standing: Standing, rest_s: float) -> None:
        self._standing, self._next = standing, monotonic() + rest_s


watch: Final = Watch()
caches.register(watch.forget)


def lag_ms() -> int | None:
    """Return the lag of the data of this read in ms; None: the database itself serves it."""
    return _lag_ms.get()


def read(run: Callable[[], T], *, is_latest: bool = False) -> T:
    """Return what `run` reads, from the replica where it can serve it.

    `run` must be free of side effects: it runs again on the database if the replica fails, or lacks
    what `run` looks for. `is_latest`: the caller must see its own changes.
    """
    alias = conf().replica_database
    if not alias:
        return run()
    if is_latest:
        observe_replica_read("latest")
        return run()
    standing = watch.standing()
    if not standing.is_usable:
        observe_replica_read("unusable" if standing.behind_ms is None else "late")
        return run()
    shown = _lag_ms.set(standing.lag_ms)
    try:
        with reading_from(alias):
            found = run()
    except Error as problem:
        watch.failed(problem)
        outcome = "failed"
    except NotFound:  # it may be newer than the data of the replica
        outcome = "missing"
    else:
        observe_replica_read("replica")
        return found
    finally:
        _lag_ms.reset(shown)
    observe_replica_read(outcome)
    return run()
