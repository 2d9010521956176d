"""Run one worker process: connect its parts, start its threads, and drain it at the end.

The main thread claims; `concurrency` slots run handlers, in threads or on the event loop; one
thread acks; one heartbeats; one watches timeouts. At the end the running handlers get time to
finish. The process gives the other jobs back without a failure.
"""

import logging
from time import monotonic
from typing import Final

from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.execution import Execution
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.ports import Claimer, Heart, Returns, Standing
from ojs_tasks.worker.slots import Slots
from ojs_tasks.worker.timeouts import Timeouts
from ojs_tasks.worker.waits import Waits

logger = logging.getLogger("ojs.worker")

LEAVE_S: Final = 5.0  # how long other handlers may go on in a process that must be replaced
CANCEL_S: Final = 1.0  # how long cancelled coroutines may clean up after the grace period
DRAIN_LOG_S: Final = 5.0  # how often the number of jobs left is logged

# Exit codes. The parent starts a new process after REPLACE, and none after the two of a worker that
# an operator dismissed, with all jobs finished or some given back.
CLEAN, UNFINISHED, REPLACE, DISMISSED, DISMISSED_UNFINISHED = 0, 1, 75, 76, 77


class Engine:
    """A worker process, without its connection to the server."""

    def __init__(
        self,
        config: WorkerConfig,
        acker: Acker,
        waits: Waits,
        execution: Execution,
    ) -> None:
        """Prepare; no thread runs yet."""
        self._grace_s = config.grace_s
        self.waits = waits
        self.directives = Directives(self.waits)
        self.in_flight = InFlight(config.concurrency, self._claim_soon)
        self.acker = acker
        self.event_loop = EventLoop(self.in_flight, execution)
        self.slots = Slots(config.concurrency, self.in_flight, acker, self.event_loop, execution)
        self.timeouts = Timeouts(self.in_flight, acker, self.directives, self.event_loop)

    def run(self, claimer: Claimer, heart: Heart, returns: Returns) -> int:
        """Work until told to end, then drain. Returns an exit code."""
        self.acker.start()
        self.slots.start()
        self.timeouts.start()
        heart.start()
        claimer.run()
        return self._drain(heart, returns)

    def is_idle(self) -> bool:
        """Return whether no job is in flight and each outcome is stored."""
        return not self.in_flight.count() and self.acker.flush(0)

    def _claim_soon(self) -> None:
        if not self.waits.main.is_set():  # the main thread clears it before it checks
            self.waits.main.set()

    def _drain(self, heart: Heart, returns: Returns) -> int:
        """Give back jobs that have not started, wait for the rest, give back unfinished jobs."""
        self.waits.beat.set()
        returns.give_back(self.in_flight.unstarted())
        grace_s = LEAVE_S if self.directives.must_leave else self._grace_s
        self._await_held(monotonic() + grace_s)
        left = self.in_flight.abandon()
        self.timeouts.stop()
        self.event_loop.stop(CANCEL_S)
        returns.give_back(left)
        self.acker.stop(grace_s)
        heart.stop()  # its reports must not follow the last one
        self.directives.own = Standing.TERMINATE
        heart.say_goodbye()
        self.slots.end()
        if self.directives.must_leave:
            return REPLACE
        return UNFINISHED if left else CLEAN

    def _await_held(self, until: float) -> None:
        log_at = monotonic()
        while (held := self.in_flight.count()) and monotonic() < until:
            if monotonic() >= log_at:
                logger.info("worker.draining", extra={"count": held})
                log_at += DRAIN_LOG_S
            self.waits.tick()
