"""Runs the periodic work: one leader per loop among any number of processes.

Each loop has a thread, a connection of its own and a session advisory lock. Leadership only saves
work: every loop body is harmless when two run it at once. A leader that dies or loses its
connection gives the lock up with it, and another copy takes over at its next try.
"""

import logging
import threading
from collections.abc import Iterable
from time import monotonic
from zlib import crc32

from django.db import Error, close_old_connections, connections

from jobs import extensions, queries
from jobs.extensions import Loop
from jobs.metrics import observe_tick
from jobs.services.expire import expire
from jobs.services.fold import fold
from jobs.services.heal import heal
from jobs.services.health import forget_loops_except
from jobs.services.promote import due_in_ms, promote
from jobs.services.reap import reap, reap_dead_workers
from jobs.services.statistics import refresh_statistics

logger = logging.getLogger("ojs.loops")

FOLLOW_S = 1.0  # how often a copy that does not lead tries to
RETRY_S = 1.0  # pause after a failure
NOTE_S = 5.0  # how often a leader notes that its loop turns

CORE = (
    Loop("promote", promote, 100, due_in_ms),
    Loop("reap", reap, 250),
    Loop("reap_dead_workers", reap_dead_workers, 1000),
    Loop("expire", expire, 250),
    Loop("fold", fold, 500),
    Loop("heal", heal, 1000),
    Loop("statistics", refresh_statistics, 1000),
)


def all_loops() -> tuple[Loop, ...]:
    """Return the core's loops and those of the extensions."""
    return (*CORE, *(loop for hook in extensions.having("loops") for loop in hook()))


def run_once(names: Iterable[str] | None = None) -> int:
    """Run loops until they find nothing more, for tests and one-off use; returns rows changed."""
    wanted = None if names is None else set(names)
    return sum(
        _drain(loop, threading.Event())
        for loop in all_loops()
        if wanted is None or loop.name in wanted
    )


def _drain(loop: Loop, stop: threading.Event) -> int:
    total = 0
    while not stop.is_set() and (changed := loop.run()):
        total += changed
    return total


class LoopRunner:
    """Runs loops in threads until `stop`."""

    def __init__(self, loops: Iterable[Loop] | None = None) -> None:
        """Prepare the threads; `start` starts them."""
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(loop,), name=f"ojs-{loop.name}", daemon=True)
            for loop in (all_loops() if loops is None else loops)
        ]

    def start(self) -> None:
        """Start every loop."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 10) -> None:
        """Finish the running batches and give the locks up."""
        self._stop.set()
        until = monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))

    def _run(self, loop: Loop) -> None:
        while not self._stop.is_set():
            try:
                self._lead(loop)
            except Error:
                logger.warning("loop.database", extra={"loop": loop.name}, exc_info=True)
                connections.close_all()
                self._stop.wait(RETRY_S)
            except Exception:  # a broken loop must not take the others with it
                logger.exception("loop.failed", extra={"loop": loop.name})
                connections.close_all()
                self._stop.wait(RETRY_S)
        connections.close_all()

    def _lead(self, loop: Loop) -> None:
        """Take the lock and tick, or wait for a turn."""
        close_old_connections()
        if not queries.lead(crc32(loop.name.encode()) & 0x7FFFFFFF):
            self._stop.wait(FOLLOW_S)
            return
        forget_loops_except(one.name for one in all_loops())
        noted = -NOTE_S
        while not self._stop.is_set():
            began = monotonic()
            _drain(loop, self._stop)
            observe_tick(loop.name, monotonic() - began)
            if began - noted >= NOTE_S:
                queries.tick(loop.name)
                noted = began
            self._stop.wait(_pause_s(loop))


def _pause_s(loop: Loop) -> float:
    ms = loop.interval_ms
    if loop.due_in_ms is not None:
        due = loop.due_in_ms()
        if due is not None:
            ms = min(ms, max(1, due))
    return ms / 1000
