"""Send the heartbeats of a worker process, and pass the answers on."""

import logging
import os
import threading
from typing import Final

from django.db import Error

from jobs.bounds import Work, for_thread
from jobs.conf import conf
from jobs.database import connection
from jobs.domain.errors import OJSError
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.trouble import Attempts
from jobs.worker.config import WorkerConfig
from jobs.worker.declaration import declaration
from jobs.worker.returns import Returns
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.ports import Standing
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S, Waits

logger = logging.getLogger("ojs.worker")

LAST_BEAT_S: Final = 5.0  # how long `stop` waits for a report that is under way
BEATS: Final = 6  # heartbeats within the silence after which a worker counts as dead


class Heartbeats:
    """The thread that sends the heartbeats of one process."""

    def __init__(
        self,
        config: WorkerConfig,
        in_flight: InFlight,
        directives: Directives,
        *,
        waits: Waits,
        returns: Returns,
    ) -> None:
        """Prepare; `start` starts the thread."""
        self._config = config
        self._in_flight = in_flight
        self._directives = directives
        self._waits = waits
        self._returns = returns
        self._declaration = declaration()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ojs-beat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after a report under way: stored later, it would revive the worker."""
        self._over.set()
        self._waits.beat.set()
        if self._thread.is_alive():
            self._thread.join(LAST_BEAT_S)

    def send(self) -> None:
        """Send a heartbeat for the held jobs, and follow the answer."""
        answer = heartbeat(self._report(self._in_flight.ids()))
        self._directives.obey_heartbeat(answer.standing)
        for job_id in answer.cancelled:
            context = self._in_flight.find(job_id)
            if context:
                context.cancel()

    def say_goodbye(self) -> None:
        """Give lost claims back, and report a process that holds no job any more."""
        try:
            self._returns.give_back_lost_claims()
            heartbeat(self._report(()))
        except Error as problem:
            logger.warning("heartbeat.database", extra={"error": str(problem)})
        except OJSError as refused:  # another tenant or pool has a worker of its id
            logger.warning("heartbeat.refused", extra={"reason": str(refused)})

    def _beat(self) -> None:
        for_thread(Work.REQUESTS)
        attempts = Attempts(logger, "heartbeat.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        interval = conf().worker_silence_ms / 1000 / BEATS
        while not self._over.is_set():
            pause = interval
            try:
                self.send()
                attempts.went_well()
            except Exception as problem:  # any error: a worker that falls silent loses its jobs
                connection.close()
                pause = min(attempts.failed(problem), interval)
            self._waits.beat.wait(pause)
            self._waits.beat.clear()
        connection.close()

    def _report(self, ids: tuple[str, ...]) -> Report:
        # while jobs are held a terminating worker counts as quiet: it still answers for them
        own = self._directives.own
        return Report(
            self._config.worker_id,
            Standing.QUIET if ids and own else own,
            active_ids=ids,
            active_jobs=len(ids),
            hostname=os.uname().nodename,
            pid=os.getpid(),
            queues=self._config.queues,
            concurrency=self._config.concurrency,
            pool=self._config.pool,
            tenant=self._config.tenant,
            declaration=self._declaration,
        )
