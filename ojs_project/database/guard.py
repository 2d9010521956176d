"""Connections whose statements have a time bound.

The kernel of a frozen database server still acknowledges bytes. So neither the server's timeouts
nor the timeouts of TCP end a statement. One thread of a process checks the running statements and
shuts the socket of a late statement down. The waiting thread gets an error at once. A statement
that waits for long may wait for a primary that a failover has replaced: the thread asks the other
hosts, and does not wait for the bound, which is minutes for loops.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout
from psycopg.pq import ExecStatus

from jobs import baton, bounds

LEAST_S: Final = 0.01  # between two checks of running statements
# At most, so less than each bound: a check finds a statement before its time is over, and the next
# check comes when it is over.
MOST_S: Final = 1.0
LOOK_S: Final = 3.0  # after so long a wait the other hosts are asked, and again and again
PROOF_S: Final = 2.0  # bound for the answer to the probe that ends an outage
PAUSE_S: Final = 0.25  # between tries to connect while the database does not answer

T = TypeVar("T")


class NoAnswer(psycopg.OperationalError):
    """The database did not answer in time, or an outage is known."""


class Outage:
    """Whether one database answers, as far as this process has seen.

    During an outage, every thread that wants to connect is refused at once. A thread of the outage
    reconnects until it gets an answer. Otherwise a request that waited behind other requests would
    wait for a connection as well.
    """

    def __init__(self) -> None:
        """Begin with a database that answers."""
        self.number = 0  # of the last suspicion: older connections may hang
        self._is_on = False
        self._asks: Callable[[], None] | None = None
        self._asking = threading.Lock()

    def begin(self) -> None:
        """Record that the database does not answer, and begin to probe it."""
        self.suspect()
        self._is_on = True
        self._ask()

    def suspect(self) -> None:
        """Keep new requests off all connections that exist now."""
        self.number += 1

    @contextmanager
    def connecting(self, asks: Callable[[], None]) -> Iterator[None]:
        """Connect inside the block.

        `asks` is the probe of an outage: it connects, gets an answer and closes its connection.
        Raises NoAnswer during an outage.
        """
        self._asks = asks
        if self._is_on:
            raise NoAnswer("the database does not answer")
        try:
            yield
        except ConnectionTimeout:
            self.begin()
            raise

    def _ask(self) -> None:
        if self._asking.acquire(blocking=False):
            threading.Thread(target=self._until_answered, name="ojs-outage", daemon=True).start()

    def _until_answered(self) -> None:
        pause = threading.Event()
        while self._is_on and self._asks:
            with contextlib.suppress(Exception):  # any error means: no answer
                self._asks()
                self._is_on = False
                break
            pause.wait(PAUSE_S)
        self._asking.release()
        if self._is_on and self._asks:  # a new outage began just now
            self._ask()


class Connection(psycopg.Connection[Any]):
    """A connection whose statements end; `bind` sets their time bound."""

    outage = Outage()
    outage_number = 0
    most_s: float | None = None
    is_cut = False
    look: Callable[[], None] | None = None  # asks the other hosts for a newer timeline: primary.py
    looks_at = 0.0
    cluster, timeline = "", 0  # of a connection that `note_lineage` has looked at

    def bind(self, outage: Outage, most_s: float | None) -> None:
        """Bound the time for the answer of every statement to `most_s`; None: no bound."""
        self.outage, self.outage_number, self.most_s = outage, outage.number, most_s
        _begin()

    @property
    def is_suspect(self) -> bool:
        """The database had an outage since this connection was made, or a failover."""
        return self.outage_number != self.outage.number or self.is_replaced

    @property
    def is_replaced(self) -> bool:
        """Another connection of this process has seen a newer timeline: see primary.py."""
        return self.timeline < _newest.get(self.cluster, 0)

    def note_lineage(self, statement: bytes) -> None:
        """Remember the cluster and the timeline of this connection, which a statement selects.

        Raises NoAnswer.
        """
        row = self._first_row(statement)
        self.cluster, self.timeline = str(row[0]), int(row[1])
        with _noting:
            _newest[self.cluster] = max(self.timeline, _newest.get(self.cluster, 0))

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Wait for the server within the bound: statements, commits and rollbacks of psycopg."""
        baton.pass_on()  # of a statement that is not one of the hot path
        wait = super().wait
        return self.within(bounds.answer_s(self.most_s), lambda: wait(*args, **kwargs))

    def within(self, seconds: float | None, run: Callable[[], T]) -> T:
        """Call a function that waits for the server, within a time bound. Raises NoAnswer."""
        self.begin_wait(seconds)
        try:
            return run()
        except psycopg.OperationalError as problem:
            if self.is_cut:
                raise self.lost("") from problem
            raise
        finally:
            self.end_wait()

    def begin_wait(self, seconds: float | None) -> None:
        """Bound the time until `end_wait`; None: until a failover has replaced the server."""
        now = monotonic()
        self.looks_at = now + LOOK_S
        _waiting[self] = inf if seconds is None else now + seconds

    def end_wait(self) -> None:
        """End the bound of the wait."""
        _waiting.pop(self, None)

    def lost(self, message: str) -> psycopg.OperationalError:
        """Return the error for an answer that cannot come any more."""
        if self.is_cut:
            return NoAnswer("the database did not answer in time")
        return psycopg.OperationalError(message)

    def prove(self) -> None:
        """Get a first answer: a pooler accepts connections even if its database is frozen."""
        self._first_row(b"SELECT 1")

    def _first_row(self, statement: bytes) -> list[str]:
        result = self.within(PROOF_S, lambda: self.pgconn.exec_(statement))
        if result.status != ExecStatus.TUPLES_OK:
            self.close()
            raise NoAnswer(f"the database does not answer: {result.get_error_message()}")
        return [(result.get_value(0, at) or b"").decode() for at in range(result.nfields)]

    def close(self) -> None:
        """Close, but not during `cut`: the system may reuse the socket's number at once."""
        with _cutting:
            super().close()

    def cut(self, until: float) -> None:
        """Shut the socket down if the statement with this deadline still runs."""
        with _cutting:
            if _waiting.get(self) != until or self.closed:
                return
            self.is_cut = True
            self.outage.begin()  # first, so that the interrupted thread does not reconnect
            # psycopg raises its own error if the connection has just broken
            with (
                contextlib.suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(self.fileno())) as line,
            ):
                line.shutdown(socket.SHUT_RDWR)


_waiting: dict[Connection, float] = {}  # deadline of each running statement
_newest: dict[str, int] = {}  # timeline by cluster
_noting = threading.Lock()
_cutting, _looking = threading.Lock(), threading.Lock()
_begun: list[threading.Thread] = []


def _begin() -> None:
    if _begun:
        return
    thread = threading.Thread(target=_watch, name="ojs-guard", daemon=True)
    _begun.append(thread)
    if _begun[0] is thread:
        thread.start()


def _watch() -> None:
    pause, pause_s = threading.Event(), MOST_S
    while not pause.wait(pause_s):
        pause_s = MOST_S
        now = monotonic()
        for connection, until in _waiting.copy().items():
            if until <= now or connection.is_replaced:
                connection.cut(until)
                continue
            pause_s = max(LEAST_S, min(pause_s, until - now))
            if connection.looks_at <= now and connection.look:
                _look(connection, connection.look)


def _look(connection: Connection, look: Callable[[], None]) -> None:
    """Ask the other hosts in a thread: one that does not answer must not delay the watch."""
    if not _looking.acquire(blocking=False):
        return

    def run() -> None:
        try:
            look()
        finally:
            connection.looks_at = monotonic() + LOOK_S
            _looking.release()

    threading.Thread(target=run, name="ojs-look", daemon=True).start()


def _forget() -> None:
    """Begin anew in a forked process, which has neither the thread nor the statements."""
    # the parent's locks may stay locked for good
    global _cutting, _looking, _noting
    _cutting, _looking, _noting = threading.Lock(), threading.Lock(), threading.Lock()
    _begun.clear()
    _waiting.clear()


os.register_at_fork(after_in_child=_forget)
