"""Deferred metrics of the hot path, written a moment later by a thread of their own.

prometheus_client packs every number into a file that processes share, under a lock. With three
numbers per request, and cold processor caches each time, this took a tenth of an enqueue. One
thread that writes many numbers keeps the caches warm.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 0.2  # a killed process loses at most this

logger = logging.getLogger("ojs.metrics")

Write = Callable[[float], None]

_pending: deque[tuple[Write, float]] = deque()
_begun: list[threading.Thread] = []
_wanted = threading.Event()  # numbers wait


def later(write: Write, number: float) -> None:
    """Call `write` with `number` soon."""
    _pending.append((write, number))
    if not _wanted.is_set():
        _wanted.set()
    if not _begun:
        _begin()


def write_now() -> None:
    """Write the waiting numbers."""
    while _pending:
        try:
            write, number = _pending.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            write(number)
        except Exception:  # one failure must not stop the other numbers
            logger.exception("metrics.lost")


def _begin() -> None:
    thread = threading.Thread(target=_run, name="ojs-deferred-metrics", daemon=True)
    _begun.append(thread)
    if _begun[0] is thread:
        thread.start()


def _run() -> None:
    """Write the numbers of each moment; an idle process has no moment."""
    pause = threading.Event()
    while _wanted.wait():
        pause.wait(EVERY_S)
        _wanted.clear()  # first: a number that comes now is written now or in the next moment
        write_now()


def _forget() -> None:
    """Begin anew in a forked process: its parent writes its own numbers, and threads stay there."""
    global _wanted  # noqa: PLW0603 - the lock of the parent's event may stay locked for good
    _wanted = threading.Event()
    _begun.clear()
    _pending.clear()


os.register_at_fork(after_in_child=_forget)
