"""Run one worker process: connect its parts, start its threads, and drain it at the end.

The main thread claims; `concurrency` slots run handlers, in threads or on the event loop; one
thread acks; one heartbeats; one watches timeouts. At the end the running handlers get time to
finish. The process gives the other jobs back without a failure.
"""

import logging
from time import monotonic
from typing import Final

from django.db import Error

from jobs.bounds import Work, for_thread
from jobs.conf import conf
from jobs.database import connection
from jobs.domain.errors import OJSError
from jobs.services.workers.heartbeat import Standing
from jobs.worker.acker import Acker
from jobs.worker.claimer import Claimer
from jobs.worker.config import WorkerConfig
from jobs.worker.directives import Directives
from jobs.worker.event_loop import EventLoop
from jobs.worker.heartbeats import Heartbeats
from jobs.worker.in_flight import InFlight
from jobs.worker.returns import Returns
from jobs.worker.slots import Slots
from jobs.worker.timeouts import Timeouts
from jobs.worker.waits import Waits

logger = logging.getLogger("ojs.worker")

LEAVE_S: Final = 5.0  # how long other handlers may go on in a process that must be replaced
CANCEL_S: Final = 1.0  # how long cancelled coroutines may clean up after the grace period
DRAIN_LOG_S: Final = 5.0  # how often the number of jobs left is logged

CLEAN, UNFINISHED, REPLACE = 0, 1, 75  # exit codes; the parent starts a new process after REPLACE


class Engine:
    """A worker process; `run` blocks until it has to end and returns an exit code."""

    def __init__(self, config: WorkerConfig) -> None:
        """Prepare; no thread runs yet."""
        self.waits = Waits()
        self.directives = Directives(self.waits)
        self.in_flight = InFlight(config.concurrency, self._claim_soon)
        self.acker = Acker()
        self.returns = Returns(config.worker_id, self.in_flight, self.acker)
        self.event_loop = EventLoop(self.in_flight)
        self.slots = Slots(config.concurrency, self.in_flight, self.acker, self.event_loop)
        self.timeouts = Timeouts(self.in_flight, self.acker, self.directives, self.event_loop)
        self.heartbeats = Heartbeats(config, self.in_flight, self.directives, self.waits)
        self.claimer = Claimer(
            config, self.in_flight, self.returns, directives=self.directives, waits=self.waits
        )

    def run(self) -> int:
        """Work until told to end, then drain. Returns an exit code."""
        connection.close()  # it was opened with other bounds
        for_thread(Work.REQUESTS)
        self.acker.start()
        self.slots.start()
        self.timeouts.start()
        self.heartbeats.start()
        self.claimer.run()
        return self._drain()

    def _claim_soon(self) -> None:
        if not self.waits.main.is_set():  # the main thread clears it before it checks
            self.waits.main.set()

    def _drain(self) -> int:
        """Give back jobs that have not started, wait for the rest, give back unfinished jobs."""
        self.waits.beat.set()
        self.returns.give_back(self.in_flight.unstarted())
        grace = LEAVE_S if self.directives.must_leave else conf().shutdown_grace_ms / 1000
        self._await_held(monotonic() + grace)
        left = self.in_flight.abandon()
        self.timeouts.stop()
        self.event_loop.stop(CANCEL_S)
        self.returns.give_back(left)
        self.acker.stop(grace)
        self.heartbeats.stop()  # its reports must not follow the last one
        self._say_goodbye()
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

    def _say_goodbye(self) -> None:
        self.directives.own = Standing.TERMINATE
        try:
            self.returns.give_back_lost_claims()
            self.heartbeats.send_last()
        except Error as problem:
            logger.warning("heartbeat.database", extra={"error": str(problem)})
        except OJSError as refused:  # another tenant or pool has a worker of its id
            logger.warning("heartbeat.refused", extra={"reason": str(refused)})
