"""Send the heartbeats of a remote worker process, and pass the answers on."""

import logging
import os
from typing import Any, Final

from typing_extensions import override

from ojs_tasks.exceptions import Refused
from ojs_tasks.registry import declared
from ojs_tasks.remote.claims import standing_of
from ojs_tasks.remote.worker_calls import WorkerCalls
from ojs_tasks.worker.beats import Beats
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.ports import Away, Standing
from ojs_tasks.worker.trouble import Attempts
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S

logger = logging.getLogger("ojs.worker")

BEAT_S: Final = 5.0  # a worker that is silent for 30 s counts as dead


class RemoteHeart(Beats):
    """The heartbeats of one process, sent over HTTP."""

    def __init__(self, config: WorkerConfig, engine: Engine, calls: WorkerCalls) -> None:
        """Prepare; `start` starts the thread."""
        super().__init__(engine.in_flight, engine.directives, engine.waits, interval_s=BEAT_S)
        self._config = config
        self._calls = calls

    @override
    def send(self) -> None:
        """Send a heartbeat for the held jobs, and follow the answer. Raises Away, Refused."""
        answer = self._post(self._in_flight.ids())
        answer = answer if isinstance(answer, dict) else {}
        self.follow(
            standing_of(answer.get("state")) or Standing.RUNNING,
            answer.get("cancelled_jobs") or (),
        )

    @override
    def new_tries(self) -> Attempts:
        """Return the log of failures."""
        return Attempts(logger, "heartbeat.failed", RECONNECT_S, LONGEST_RECONNECT_S)

    @override
    def release(self) -> None:
        """Keep the connections: the client replaces broken ones."""

    def say_goodbye(self) -> None:
        """Report the end of the process. The server takes back jobs of a lost claim, too."""
        try:
            if not self._calls.leave(self._config.worker_id):
                self._post(())
        except (Away, Refused) as problem:
            logger.warning("heartbeat.failed", extra={"error": str(problem)})

    def _post(self, ids: tuple[str, ...]) -> Any:
        config = self._config
        body: dict[str, Any] = {
            "worker_id": config.worker_id,
            "state": self.own_standing(holds_jobs=bool(ids)).name.lower(),
            "active_jobs": list(ids),
            "hostname": os.uname().nodename,
            "pid": os.getpid(),
            "concurrency": config.concurrency,
        }
        if config.queues:
            body["queues"] = list(config.queues)
        if config.pool is not None:
            body["pool"] = config.pool
        if handlers := declared():
            body["handlers"] = handlers
        return self._calls.post("workers/heartbeat", body)
