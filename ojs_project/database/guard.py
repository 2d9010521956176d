"""Connections that do not wait for ever.

A server that stands still acknowledges bytes by its kernel, so neither its own timeouts nor those
of TCP end a statement. One thread of a process looks at the statements under way and shuts the
socket down under one that is late: whoever waits on it gets an error at once.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout
from psycopg.pq import ExecStatus

from jobs import bounds

TICK_S: Final = 0.25  # how often statements under way are looked at
PROOF_S: Final = 2.0  # how long the first connection of an outage's end may take to answer
PAUSE_S: Final = 0.25  # between tries to connect while the database does not answer

T = TypeVar("T")


class NoAnswer(psycopg.OperationalError):
    """The database did not answer in time, or has not for a while."""


class Outage:
    """Whether one database answers, as this process has seen it.

    While it does not, every thread that wants to connect is refused at once, and a thread of the
    outage's own connects again and again until it gets an answer. A request that waited behind
    others, for as long as these may take, would otherwise wait for a connection as well.
    """

    def __init__(self) -> None:
        """It answers."""
        self.number = 0  # connections of an earlier one may hang
        self._is_on = False
        self._asks: Callable[[], None] | None = None
        self._asking = threading.Lock()

    def begin(self) -> None:
        """Note that the database does not answer."""
        self.suspect()
        self._is_on = True
        self._ask()

    def suspect(self) -> None:
        """Let no request begin on a connection that was made before."""
        self.number += 1

    @contextmanager
    def connecting(self, asks: Callable[[], None]) -> Iterator[None]:
        """Connect in the block; `asks` connects, gets an answer, and ends its connection.

        Raises NoAnswer while the database does not answer.
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
            with contextlib.suppress(Exception):  # whatever it is, it is no answer
                self._asks()
                self._is_on = False
                break
            pause.wait(PAUSE_S)
        self._asking.release()
        if self._is_on and self._asks:  # begun again just now
            self._ask()


class Connection(psycopg.Connection[Any]):
    """A connection whose statements end; `bind` says by when."""

    outage = Outage()
    outage_number = 0
    most_s: float | None = None
    is_cut = False

    def bind(self, outage: Outage, most_s: float | None) -> None:
        """Let every statement be answered within `most_s`, None: whenever it is."""
        self.outage, self.outage_number, self.most_s = outage, outage.number, most_s
        _begin()

    @property
    def is_suspect(self) -> bool:
        """The database has stood still since this connection was made."""
        return self.outage_number != self.outage.number

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Do what every statement, commit and rollback of psycopg goes through, within bounds."""
        wait = super().wait
        return self.within(bounds.answer_s(self.most_s), lambda: wait(*args, **kwargs))

    def within(self, seconds: float | None, run: Callable[[], T]) -> T:
        """Run what waits for the server. Raises NoAnswer."""
        if seconds is None:
            return run()
        _waiting[self] = monotonic() + seconds
        try:
            return run()
        except psycopg.OperationalError as problem:
            if self.is_cut:
                raise NoAnswer("the database did not answer in time") from problem
            raise
        finally:
            _waiting.pop(self, None)

    def prove(self) -> None:
        """Ask for a first answer: a pooler takes connections though its database stands still."""
        result = self.within(PROOF_S, lambda: self.pgconn.exec_(b"SELECT 1"))
        if result.status != ExecStatus.TUPLES_OK:
            self.close()
            raise NoAnswer(f"the database does not answer: {result.get_error_message()}")

    def close(self) -> None:
        """Close, but not while the socket is shut down: its number may be another's at once."""
        with _cutting:
            super().close()

    def cut(self, until: float) -> None:
        """Shut the socket down if the statement that was due then is still under way."""
        with _cutting:
            if _waiting.get(self) != until or self.closed:
                return
            self.is_cut = True
            self.outage.begin()  # first: whoever waits does not connect any more
            # psycopg's own where the connection broke by itself just now
            with (
                contextlib.suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(self.fileno())) as line,
            ):
                line.shutdown(socket.SHUT_RDWR)


_waiting: dict[Connection, float] = {}  # until when each may wait
_cutting = threading.Lock()
_begun: list[threading.Thread] = []


def _begin() -> None:
    if _begun:
        return
    thread = threading.Thread(target=_watch, name="ojs-guard", daemon=True)
    _begun.append(thread)
    if _begun[0] is thread:
        thread.start()


def _watch() -> None:
    pause = threading.Event()
    while not pause.wait(TICK_S):
        now = monotonic()
        for connection, until in _waiting.copy().items():
            if until <= now:
                connection.cut(until)


def _forget() -> None:
    """Begin anew in a forked process, which has neither the thread nor the statements."""
    global _cutting  # noqa: PLW0603 - the parent's lock may be held for ever
    _cutting = threading.Lock()
    _begun.clear()
    _waiting.clear()


os.register_at_fork(after_in_child=_forget)
