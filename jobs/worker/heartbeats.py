"""Send the heartbeats of a worker process, and pass the answers on."""

import logging
import os
from typing import Final

from django.db import Error
from typing_extensions import override

from jobs.bounds import Work, for_thread
from jobs.conf import conf
from jobs.database import connection
from jobs.domain.errors import OJSError
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.trouble import Attempts
from jobs.worker.config import WorkerConfig
from jobs.worker.declaration import declaration
from jobs.worker.returns import Returns
from ojs_tasks.worker.beats import Beats
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S, Waits

logger = logging.getLogger("ojs.worker")

BEATS: Final = 6  # heartbeats within the silence after which a worker counts as dead


class Heartbeats(Beats):
    """The heartbeats of one process, stored in the database."""

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
        interval_s = conf().worker_silence_ms / 1000 / BEATS
        super().__init__(in_flight, directives, waits, interval_s=interval_s)
        self._config = config
        self._returns = returns
        self._declaration = declaration()

    @override
    def send(self) -> None:
        """Store a heartbeat for the held jobs, and follow the answer."""
        answer = heartbeat(self._report(self._in_flight.ids()))
        self.follow(answer.standing, answer.cancelled)

    @override
    def new_tries(self) -> Attempts:
        """Set the bounds of statements, and return the log of failures."""
        for_thread(Work.REQUESTS)
        return Attempts(logger, "heartbeat.failed", RECONNECT_S, LONGEST_RECONNECT_S)

    @override
    def release(self) -> None:
        """Close the database connection of the thread."""
        connection.close()

    def say_goodbye(self) -> None:
        """Give lost claims back, and report a process that holds no job any more."""
        try:
            self._returns.give_back_lost_claims()
            heartbeat(self._report(()))
        except Error as problem:
            logger.warning("heartbeat.database", extra={"error": str(problem)})
        except OJSError as refused:  # another tenant or pool has a worker of its id
            logger.warning("heartbeat.refused", extra={"reason": str(refused)})

    def _report(self, ids: tuple[str, ...]) -> Report:
        return Report(
            self._config.worker_id,
            self.own_standing(holds_jobs=bool(ids)),
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
