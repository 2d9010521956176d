"""Wait for the ends of jobs: one connection per process listens for all waiters.

The database notifies the ends of jobs that a listener has named (`ojs_tell_awaited`), and of no
others: notifications serialize commits. The listener looks at each job after it has named it, so no
end is missed. After a lost connection it names and looks at all of them again.

Extensions wait for the ends of other rows, such as workflows, by a look of their own. Their tables
have the trigger `ojs_tell_awaited_row`. Ids are UUIDv7, so they are unique among all kinds.
"""

import logging
import os
import select
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from math import ceil
from time import monotonic
from typing import Any, Final, TypeAlias
from uuid import uuid4

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs import queries
from jobs.database import new_direct_connection
from jobs.domain.errors import BackendUnavailable
from jobs.domain.outcome.awaited import Look
from jobs.trouble import Attempts

logger = logging.getLogger("ojs.awaiting")

CHANNEL: Final = "LISTEN ojs_ended"
MOST: Final = 10_000  # jobs that a process waits for at a time
IDLE_S: Final = 30.0  # without a waiter, until the connection is closed
KEEP_MS: Final = 900_000  # a row of a listener that died is outlived after this time
RENEW_S: Final = KEEP_MS / 3000  # the listener names all jobs again, and looks at them
AGAIN_S, LONGEST_AGAIN_S = 0.02, 1.0  # until the next look at a job whose row is held
RECONNECT_S, LONGEST_RECONNECT_S = 0.5, 5.0


# looks at ids on the listener's connection; ids without a visible row are left out
Looker: TypeAlias = Callable[[Collection[str], BaseDatabaseWrapper], Collection[Look]]


class Unseen(Exception):
    """No committed job has this id."""


class Listener:
    """Listens in a thread that starts with the first waiter, and ends some time after the last."""

    def __init__(self) -> None:
        """Prepare without a thread: the process may still fork."""
        self._idle_s = IDLE_S
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # the threads stay in the parent

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[str, list[Future[None]]] = {}
        self._lookers: dict[str, Looker] = {}  # of the ids with waiters
        self._new: set[str] = set()
        self._left: set[str] = set()  # named in the database, and no longer awaited
        self._thread: threading.Thread | None = None
        self._over = False
        self._bell: _Bell | None = None

    def watch(self, job_id: str, looker: Looker = queries.await_look) -> "Future[None]":
        """Return a future that is done when the job has ended; pass it to `leave` at last.

        With another `looker` the id is that of a row of another kind. The future raises Unseen if
        no committed row has this id. Raises BackendUnavailable when too many jobs are awaited.
        """
        future: Future[None] = Future()
        with self._lock:
            if len(self._waiters) >= MOST:
                raise BackendUnavailable(f"this process waits for {MOST} jobs already")
            self._waiters.setdefault(job_id, []).append(future)
            self._lookers[job_id] = looker
            self._new.add(job_id)
            if self._bell is None:
                self._over = False
                self._bell = _Bell()
                self._thread = threading.Thread(target=self._run, daemon=True, name="ojs-await")
                self._thread.start()
            self._bell.ring()
        return future

    def leave(self, job_id: str, future: "Future[None]") -> None:
        """End a wait, whether its future is done or not."""
        future.cancel()
        with self._lock:
            waiting = self._waiters.get(job_id, [])
            if future in waiting:
                waiting.remove(future)
            if not waiting and self._waiters.pop(job_id, None) is not None:
                self._left.add(job_id)
                self._new.discard(job_id)
                del self._lookers[job_id]
                if self._bell is not None:
                    self._bell.ring()

    def stop(self) -> None:
        """End the thread and its connection; a later `watch` starts a new one."""
        with self._lock:
            thread, self._over = self._thread, True
            if self._bell is not None:
                self._bell.ring()
        if thread is not None:
            thread.join()

    # --- the thread

    def _run(self) -> None:
        attempts = Attempts(logger, "await.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        bell = self._bell
        assert bell is not None  # noqa: S101 - made with the thread
        while not self._ends(is_idle=False):
            try:
                self._serve(bell, attempts)
            except Exception as problem:  # any error: waiters depend on this thread
                bell.wait(attempts.failed(problem))
        bell.close()

    def _serve(self, bell: "_Bell", attempts: Attempts) -> None:
        """Serve waiters on one connection until the thread has to end."""
        # LISTEN does not work through a transaction-mode pooler
        mine = new_direct_connection()
        try:
            session = _Session(mine)
            with self._lock:
                self._new |= self._waiters.keys()  # those of a lost connection
            attempts.went_well()
            self._follow(session, bell)
        finally:
            mine.close()

    def _follow(self, session: "_Session", bell: "_Bell") -> None:
        idle_at = monotonic() + self._idle_s
        while not self._ends(is_idle=monotonic() >= idle_at):
            self._settle(session)
            if self._waiters:
                idle_at = monotonic() + self._idle_s
            self._tell(session.wait(bell, max(0.0, idle_at - monotonic())))

    def _ends(self, *, is_idle: bool) -> bool:
        """Return whether the thread has to end; from then on a new waiter starts another one."""
        with self._lock:
            if self._over or (is_idle and not self._waiters and not self._left):
                self._thread = self._bell = None
                return True
            return self._bell is None

    def _settle(self, session: "_Session") -> None:
        """Name new jobs, look at them, and forget jobs that nobody waits for.

        After an error, the next session names all jobs; the rows of this one are outlived in time.
        """
        with self._lock:
            new, self._new = self._new, set()
            if session.is_due():
                new |= self._waiters.keys()
            lookers = {job_id: self._lookers[job_id] for job_id in new}
        session.begin(lookers)
        ended, unseen = session.look()
        self._tell(ended)
        self._tell(unseen, Unseen())
        with self._lock:
            left, self._left = self._left - self._waiters.keys(), set()
        session.end(left)

    def _tell(self, ids: Collection[str], problem: Exception | None = None) -> None:
        with self._lock:
            mine = self._waiters.keys() & set(ids)  # listeners hear of each other's jobs, too
            if problem is not None:
                mine -= self._new  # asked again after the look
            told = [future for job_id in mine for future in self._waiters.pop(job_id)]
            for job_id in mine:
                del self._lookers[job_id]
            self._left |= mine
        for future in told:
            if not future.set_running_or_notify_cancel():
                continue
            if problem is None:
                future.set_result(None)
            else:
                future.set_exception(problem)


class _Bell:
    """Ends the waits of the listener's thread, also those for a socket."""

    def __init__(self) -> None:
        """Open a pipe."""
        self.woken, self._waking = os.pipe()
        for end in (self.woken, self._waking):
            os.set_blocking(end, False)

    def ring(self) -> None:
        """End the present wait, or the next one; for any thread."""
        with suppress(BlockingIOError):  # full: the wait ends anyway
            os.write(self._waking, b"\0")

    def wait(self, seconds: float, *sockets: int) -> None:
        """Wait for a ring, for one of the sockets, or for some seconds."""
        poll = select.poll()
        for one in (self.woken, *sockets):
            poll.register(one, select.POLLIN)
        poll.poll(ceil(seconds * 1000))
        with suppress(BlockingIOError):
            os.read(self.woken, 65536)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.woken)
        os.close(self._waking)


class _Session:
    """One connection of the listener, and the jobs that it has to look at."""

    def __init__(self, mine: BaseDatabaseWrapper) -> None:
        """Connect and listen."""
        mine.ensure_connection()
        self._mine = mine
        self._raw: psycopg.Connection[Any] = mine.connection
        self._name = str(uuid4())
        self._heard: set[str] = set()
        self._unsure: dict[str, Looker] = {}  # to look at
        self._again_s = AGAIN_S
        self._renew_at = monotonic() + RENEW_S
        self._raw.add_notify_handler(self._note)
        self._raw.execute(CHANNEL)

    def is_due(self) -> bool:
        """Return whether all jobs have to be named again."""
        if monotonic() < self._renew_at:
            return False
        self._renew_at = monotonic() + RENEW_S
        return True

    def begin(self, lookers: Mapping[str, Looker]) -> None:
        """Name jobs, and look at them next."""
        if lookers:
            queries.await_begin(sorted(lookers), self._name, KEEP_MS, self._mine)
            self._unsure.update(lookers)
            self._again_s = AGAIN_S

    def look(self) -> tuple[set[str], set[str]]:
        """Read the state of jobs; returns the ids of ended jobs, and those of missing jobs."""
        found: list[Look] = []
        for looker in set(self._unsure.values()):
            mine = sorted(one for one, with_looker in self._unsure.items() if with_looker is looker)
            found += looker(mine, self._mine)
        unseen = self._unsure.keys() - {one.id for one in found}
        again = {one.id for one in found if not one.is_certain and not one.has_ended}
        self._unsure = {one: self._unsure[one] for one in again}
        return {one.id for one in found if one.has_ended}, unseen

    def end(self, ids: Collection[str]) -> None:
        """Forget jobs that nobody waits for."""
        for one in ids:
            self._unsure.pop(one, None)
        if ids:
            queries.await_end(sorted(ids), self._name, self._mine)

    def wait(self, bell: _Bell, longest_s: float) -> set[str]:
        """Wait for notifications, or for the bell; returns the jobs that have ended."""
        self._read()
        if not self._heard:
            left_s = min(longest_s, max(0.0, self._renew_at - monotonic()))
            if self._unsure:
                left_s = min(left_s, self._again_s)
                self._again_s = min(self._again_s * 2, LONGEST_AGAIN_S)
            bell.wait(left_s, self._raw.fileno())
            self._read()
        heard, self._heard = self._heard, set()
        return heard

    def _read(self) -> None:
        self._raw.pgconn.consume_input()
        for found in iter(self._raw.pgconn.notifies, None):
            self._heard.add(found.extra.decode())

    def _note(self, notification: psycopg.Notify) -> None:
        """Take a notification that psycopg has read with the answer to a statement."""
        self._heard.add(notification.payload)


listener = Listener()
