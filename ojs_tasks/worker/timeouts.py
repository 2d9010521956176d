"""Stop attempts that exceed their execution time.

A late handler first gets JobTimeout raised inside it, a late coroutine CancelledError. A handler
that does not react is stuck (a blocking C call). Its attempt is answered as timed out. Then the
whole process is replaced, because a thread cannot be killed. A coroutine that blocks the event loop
is stuck as soon as the time of any attempt on the loop is over.
"""

import ctypes
import logging
import threading
from time import monotonic
from typing import Any, Final

from ojs_tasks.exceptions import JobTimeout
from ojs_tasks.job_errors import server_error, timeout_error
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.execution import failed
from ojs_tasks.worker.in_flight import InFlight, Running
from ojs_tasks.worker.waits import TICK_S

logger = logging.getLogger("ojs.worker")

IDLE_CHECKS: Final = 10  # after which the thread waits for an attempt
STUCK_S: Final = 1.0  # for a handler to react to JobTimeout: after that it is stuck
CLEAN_UP_S: Final = 10.0  # the same for a coroutine, which may wait while it cleans up
BLOCKED_S: Final = 1.0  # without a callback: after that the event loop is blocked


class Timeouts:
    """The thread that watches the execution times of one process."""

    def __init__(
        self, in_flight: InFlight, acker: Acker, directives: Directives, event_loop: EventLoop
    ) -> None:
        """Prepare; `start` starts the thread."""
        self._in_flight = in_flight
        self._acker = acker
        self._directives = directives
        self._event_loop = event_loop
        self._is_blocked = False  # the event loop, at the latest check
        self._over = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._watch, name="ojs-watch", daemon=True).start()

    def stop(self) -> None:
        """Let the thread end."""
        self._over.set()
        self._in_flight.end_wait()

    def check(self, now: float) -> None:
        """Stop the attempts that are late at this monotonic time."""
        blocked_s = self._event_loop.blocked_s(now)
        self._note_blocked(blocked_s)
        for entry in self._in_flight.late(now):
            is_on_loop = bool(entry.places) and not isinstance(entry.places[-1], int)
            stuck_s = CLEAN_UP_S if is_on_loop and not self._is_blocked else STUCK_S
            if self._in_flight.expire(entry, now, stuck_s, self._warn):
                elapsed_ms = entry.context.job.timeout_ms + round((now - entry.until) * 1000)
                self._give_up(entry, timeout_error(entry.context.job.timeout_ms, elapsed_ms))
                if is_on_loop and self._is_blocked:
                    self._give_up_current(blocked_s)

    def _watch(self) -> None:
        idle = 0  # checks in turn without a running attempt
        while not self._over.wait(TICK_S):
            self.check(monotonic())
            idle = 0 if self._in_flight.is_busy() else idle + 1
            if idle >= IDLE_CHECKS:
                self._in_flight.wait_for_attempt()
                idle = 0

    def _warn(self, entry: Running) -> None:
        place = entry.places[-1]
        if isinstance(place, int):
            _raise_in(place)
        else:
            self._event_loop.cancel(place)

    def _note_blocked(self, blocked_s: float) -> None:
        was_blocked, self._is_blocked = self._is_blocked, blocked_s >= BLOCKED_S
        if self._is_blocked and not was_blocked:
            entry = self._event_loop.current()
            job = entry.context.job if entry else None
            facts = {"job_id": job and job.id, "job_type": job and job.type}
            logger.warning("event_loop.blocked", extra={**facts, "line": self._event_loop.line()})

    def _give_up_current(self, blocked_s: float) -> None:
        """Answer for the attempt that blocks the event loop, even if its own time is not over."""
        entry = self._event_loop.current()
        if entry is not None and self._in_flight.take_answer(entry):
            message = f"the handler blocked the event loop for {round(blocked_s * 1000)} ms"
            self._give_up(entry, server_error("timeout", message))

    def _give_up(self, entry: Running, error: dict[str, Any]) -> None:
        """Answer for a stuck attempt, and let the process be replaced."""
        job = entry.context.job
        logger.error("handler.stuck", extra={"job_id": job.id, "job_type": job.type})
        self._acker.send(failed(entry.context, error), wait=False)
        self._in_flight.forget(entry.context)
        self._directives.leave()


def _raise_in(thread_id: int) -> None:
    """Raise JobTimeout in a handler thread, at its next Python instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), ctypes.py_object(JobTimeout)
    )
