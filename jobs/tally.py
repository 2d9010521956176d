"""Metrics of the hot path, written a moment later by a thread of their own.

prometheus_client packs every number into a file that processes share, under a lock: with three of
them a request, and the code for it out of the processor's caches each time, that was a tenth of an
enqueue. One thread that writes many has it in its caches.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 0.2  # what a process that is killed may lose

logger = logging.getLogger("ojs.metrics")

Write = Callable[[float], None]

_pending: deque[tuple[Write, float]] = deque()
_begun: list[threading.Thread] = []


def later(write: Write, number: float) -> None:
    """Call `write` with `number` soon."""
    _pending.append((write, number))
    if not _begun:
        _begin()


def write_now() -> None:
    """Write what waits."""
    while _pending:
        try:
            write, number = _pending.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            write(number)
        except Exception:  # nobody waits for it, and others do
            logger.exception("metrics.lost")


def _begin() -> None:
    thread = threading.Thread(target=_run, name="ojs-tally", daemon=True)
    _begun.append(thread)
    if _begun[0] is thread:
        thread.start()


def _run() -> None:
    pause = threading.Event()
    while not pause.wait(EVERY_S):
        write_now()


def _forget() -> None:
    """Begin anew in a forked process: its parent writes what waits, and threads stay there."""
    _begun.clear()
    _pending.clear()


os.register_at_fork(after_in_child=_forget)
