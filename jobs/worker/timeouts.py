"""Stop attempts that exceed their execution time.

A late handler first gets JobTimeout raised inside it. A handler that does not react is stuck (a
blocking C call). Its attempt is answered as timed out. Then the whole process is replaced, because
a thread cannot be killed.
"""

import ctypes
import logging
import threading
from time import monotonic
from typing import Final

from jobs.domain.outcome import retry
from jobs.worker.acker import Acker
from jobs.worker.directives import Directives
from jobs.worker.execution import failed
from jobs.worker.in_flight import InFlight, Running
from jobs.worker.waits import TICK_S
from ojs_tasks.exceptions import JobTimeout

logger = logging.getLogger("ojs.worker")

IDLE_CHECKS: Final = 10  # after which the thread waits for an attempt
STUCK_S: Final = 1.0  # for a handler to react to JobTimeout: after that it is stuck


class Timeouts:
    """The thread that watches the execution times of one process."""

    def __init__(self, in_flight: InFlight, acker: Acker, directives: Directives) -> None:
        """Prepare; `start` starts the thread."""
        self._in_flight = in_flight
        self._acker = acker
        self._directives = directives
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
        for entry in self._in_flight.late(now):
            if self._in_flight.expire(entry, now, STUCK_S, _raise_in):
                self._give_up(entry, now)

    def _watch(self) -> None:
        idle = 0  # checks in turn without a running attempt
        while not self._over.wait(TICK_S):
            self.check(monotonic())
            idle = 0 if self._in_flight.is_busy() else idle + 1
            if idle >= IDLE_CHECKS:
                self._in_flight.wait_for_attempt()
                idle = 0

    def _give_up(self, entry: Running, now: float) -> None:
        """Answer for a stuck attempt, and let the process be replaced."""
        job = entry.context.job
        logger.error("handler.stuck", extra={"job_id": job.id, "job_type": job.type})
        elapsed_ms = job.timeout_ms + round((now - entry.until) * 1000)
        error = retry.timeout_error(job.timeout_ms, elapsed_ms)
        self._acker.send(failed(entry.context, error), wait=False)
        self._in_flight.forget(entry.context)
        self._directives.leave()


def _raise_in(thread_id: int) -> None:
    """Raise JobTimeout in a handler thread, at its next Python instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), ctypes.py_object(JobTimeout)
    )
