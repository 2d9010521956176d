"""Run the periodic work: one leader per loop among any number of processes.

Each loop has a thread, a connection of its own and a session advisory lock. Leadership only saves
work: every loop body is harmless when two run it at once. A leader that dies or loses its
connection gives up the lock with it, and another copy takes over at its next try.
"""

import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from time import monotonic
from zlib import crc32

from django.db import close_old_connections, connections

from jobs import extensions, queries, spans
from jobs.extensions import Loop, OperationsHooks
from jobs.metrics import observe_tick
from jobs.pulse import Pulse, Seen
from jobs.services.enqueue.backpressure import watch_pressure
from jobs.services.enqueue.idempotency import forget_answers
from jobs.services.health.health import forget_loops_except
from jobs.services.operate.queue_removal import drain
from jobs.services.operate.undo import BATCH as BATCH_OF_UNDOS
from jobs.services.operate.undo import forget_undos, undo_some
from jobs.services.outcome.expire import expire, expiry_in_ms
from jobs.services.outcome.promote import due_in_ms, promote
from jobs.services.outcome.reap import death_in_ms, overdue_in_ms, reap, reap_dead_workers
from jobs.services.outcome.replay import replay_once
from jobs.services.outcome.retain import retain
from jobs.services.outcome.stall import stall
from jobs.services.record.aggregate import BATCH, aggregate_unread
from jobs.services.record.log import BATCH as LINES
from jobs.services.record.log import log
from jobs.services.record.reconcile import reconcile_once
from jobs.services.upkeep.heal import heal
from jobs.services.upkeep.statistics import refresh_statistics
from jobs.trouble import Attempts

logger = logging.getLogger("ojs.loops")

FOLLOW_S = 1.0  # how often a standby tries to take the lock
RETRY_S, LONGEST_RETRY_S = 1.0, 5.0  # pause after the first failure, and after many
SOON_S = 0.001  # pause of a loop with due times after a run that changed rows
NOTE_S = 5.0  # how often a leader stores that its loop runs

CORE = (
    Loop("promote", promote, 100, due_in_ms, "due_ms", while_rows_of=("ojs_later",)),
    Loop("reap", reap, 250, overdue_in_ms, "overdue_ms"),
    Loop("reap_dead_workers", reap_dead_workers, 1000, death_in_ms),
    Loop("expire", expire, 250, expiry_in_ms, "expiry_ms"),
    # Each run makes a new version of every changed counter, one per tenant and state. These
    # versions stay while a snapshot is held, and the next runs read all of them. So a run is not
    # repeated at once for newer events, and a long run is followed by a long pause.
    Loop("fold", aggregate_unread, 1000, full=BATCH // 2, longest_ms=2000, reads_events=True),
    Loop("log", log, 500, full=LINES, reads_events=True),
    Loop("heal", heal, 1000, while_rows_of=("ojs_ready",)),
    Loop("reconcile", reconcile_once, 300_000),
    Loop("drain", drain, 1000, reads_events=True),
    Loop("pressure", watch_pressure, 1000, reads_events=True),
    Loop("replay", replay_once, 60_000),
    Loop("stall", stall, 10_000),
    Loop("statistics", refresh_statistics, 1000, reads_events=True),
    Loop("forget_answers", forget_answers, 60_000),
    Loop("undo", undo_some, 1000, while_rows_of=("ojs_undo",)),
    Loop("forget_undos", forget_undos, 60_000, full=BATCH_OF_UNDOS, while_rows_of=("ojs_undo",)),
    Loop("retention", retain, 10_000, rest_ms=20, reads_events=True),
)


def all_loops() -> tuple[Loop, ...]:
    """Return the loops of the core and of the extensions."""
    found = extensions.implementers(OperationsHooks.loops)
    return (*CORE, *(loop for extension in found for loop in extension.loops()))


def run_once(names: Iterable[str] | None = None) -> int:
    """Run loops until no rows are left, for tests and one-off use; returns rows changed."""
    wanted = None if names is None else set(names)
    return sum(_drain(loop) for loop in all_loops() if wanted is None or loop.name in wanted)


def _drain(loop: Loop) -> int:
    total = 0
    while changed := loop.run():
        total += changed
    return total


class LoopRunner:
    """Runs loops in threads until `stop`."""

    def __init__(self, loops: Iterable[Loop] | None = None) -> None:
        """Prepare the threads; `start` starts them."""
        self._stop = threading.Event()
        self._pulse = Pulse(NOTE_S)
        self._pulse_thread = threading.Thread(target=self._pulse.run, name="ojs-pulse", daemon=True)
        self._threads = [
            threading.Thread(target=self._run, args=(loop,), name=f"ojs-{loop.name}", daemon=True)
            for loop in map(_traced, all_loops() if loops is None else loops)
        ]

    def start(self) -> None:
        """Start every loop."""
        for thread in (self._pulse_thread, *self._threads):
            thread.start()

    def stop(self, timeout_s: float = 10) -> None:
        """Finish the running batches and give up the locks."""
        self._stop.set()
        self._pulse.stop()
        until = monotonic() + timeout_s
        for thread in (*self._threads, self._pulse_thread):
            thread.join(max(0.0, until - monotonic()))

    def _run(self, loop: Loop) -> None:
        attempts = Attempts(logger, "loop.failed", RETRY_S, LONGEST_RETRY_S, loop=loop.name)
        while not self._stop.is_set():
            try:
                self._lead(loop, attempts)
            except Exception as problem:  # a broken loop must not end the other loops
                connections.close_all()
                self._stop.wait(attempts.failed(problem))
        connections.close_all()

    def _lead(self, loop: Loop, attempts: Attempts) -> None:
        """Take the lock and run, or wait as a standby."""
        close_old_connections()
        if not queries.lead(crc32(loop.name.encode()) & 0x7FFFFFFF):
            attempts.went_well()
            self._stop.wait(FOLLOW_S)
            return
        forget_loops_except(one.name for one in all_loops())
        noted = -NOTE_S
        idle = 0  # runs in turn that found nothing
        while not self._stop.is_set():
            began, seen = monotonic(), self._pulse.seen
            changed = 0
            for rows in self._run_batches(loop):
                changed += rows
                if monotonic() - noted >= NOTE_S:  # also within a long run: the loop works
                    queries.tick(loop.name)
                    noted = monotonic()
            took = monotonic() - began
            observe_tick(loop.name, took)
            attempts.went_well()
            idle = 0 if changed else idle + 1
            with self._pulse.paused(loop.name):
                self._pause(loop, seen, loop.pause_s(took), idle)
            noted = monotonic()

    def _pause(self, loop: Loop, seen: Seen, pause_s: float, idle: int) -> None:
        if loop.due_in_ms is not None:
            # a due row that the run left is locked, or cannot change now
            self._pulse.rest(loop, loop.interval_ms / 1000 if idle else SOON_S, seen)
        elif idle > 1 and (loop.reads_events or loop.while_rows_of):
            # the last run saw all that was there when the run before it ended
            self._pulse.rest(loop, pause_s, seen)
        else:
            self._stop.wait(pause_s)

    def _run_batches(self, loop: Loop) -> Iterator[int]:
        """Run batches until one is not full; yields the rows that each changed."""
        is_more = True
        while is_more:
            changed = loop.run()
            is_more = changed >= loop.full
            yield changed
            is_more = is_more and not self._stop.wait(loop.rest_ms / 1000)


def _traced(loop: Loop) -> Loop:
    return replace(loop, run=spans.traced_loop(loop.name, loop.run))
