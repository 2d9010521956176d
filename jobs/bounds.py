"""Bounds on the time of database statements, by the kind of work of a thread.

The settings name the bounds; the engine of the standalone server (`ojs_project.database`) puts them
into each new connection. In another project the host's own database settings count.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from jobs.conf import conf

GRACE_S: Final = 2.0  # beyond the server's own bound, until the client ends the connection


class Work(Enum):
    """The kind of work of a thread."""

    REQUESTS = auto()  # a client waits for the answer; also a worker's claims and heartbeats
    TASKS = auto()  # loops, operator tasks, handlers, commands
    MIGRATIONS = auto()  # rebuilding a table has no bound


@dataclass(frozen=True, slots=True)
class Bounds:
    """Milliseconds; 0: no bound."""

    statement_ms: int
    lock_ms: int
    idle_in_transaction_ms: int

    @property
    def answer_s(self) -> float | None:
        """How long the client waits for an answer; None: for ever."""
        return self.statement_ms / 1000 + GRACE_S if self.statement_ms else None


class _Process:
    work = Work.TASKS


class _Thread(threading.local):
    work: Work | None = None
    most_s: float | None = None


_thread = _Thread()


def for_process(work: Work) -> None:
    """Set the kind of work of this process, for connections made from now on."""
    _Process.work = work


def serves_requests() -> bool:
    """Return whether clients wait for the answers of this process."""
    return _Process.work is Work.REQUESTS


def for_thread(work: Work | None) -> None:
    """Set this thread's kind of work, None: its process's, for connections made from now on."""
    _thread.work = work


def current() -> Bounds:
    """Return the bounds of a connection that this thread makes now."""
    work = _thread.work or _Process.work
    given = conf()
    if work is Work.REQUESTS:
        statement_ms, lock_ms = given.statement_timeout_ms, given.lock_timeout_ms
    else:
        statement_ms, lock_ms = given.task_statement_timeout_ms, given.task_lock_timeout_ms
    if work is Work.MIGRATIONS:
        statement_ms = 0
    return Bounds(statement_ms, lock_ms, given.idle_in_transaction_timeout_ms)


@contextmanager
def answered_within(seconds: float) -> Iterator[None]:
    """Shorten the client's wait for each answer in the block, for probes."""
    before = _thread.most_s
    _thread.most_s = seconds
    try:
        yield
    finally:
        _thread.most_s = before


def answer_s(of_connection: float | None) -> float | None:
    """Return how long this thread waits for an answer on a connection with this bound."""
    most = _thread.most_s
    if most is None or of_connection is None:
        return most or of_connection
    return min(most, of_connection)
