"""Send the heartbeats of a remote worker process, and pass the answers on."""

import logging
import os
import threading
from typing import Any, Final

from ojs_tasks.exceptions import Refused
from ojs_tasks.registry import declared
from ojs_tasks.remote.claims import standing_of
from ojs_tasks.remote.worker_calls import WorkerCalls
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.ports import Away, Standing
from ojs_tasks.worker.trouble import Attempts
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S

logger = logging.getLogger("ojs.worker")

BEAT_S: Final = 5.0  # a worker that is silent for 30 s counts as dead
LAST_BEAT_S: Final = 5.0  # how long `stop` waits for a report that is under way


class RemoteHeart:
    """The thread that sends the heartbeats of one process."""

    def __init__(self, config: WorkerConfig, engine: Engine, calls: WorkerCalls) -> None:
        """Prepare; `start` starts the thread."""
        self._config = config
        self._in_flight = engine.in_flight
        self._directives = engine.directives
        self._waits = engine.waits
        self._calls = calls
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ojs-beat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after a report under way: a later one would revive the worker."""
        self._over.set()
        self._waits.beat.set()
        if self._thread.is_alive():
            self._thread.join(LAST_BEAT_S)

    def send(self) -> None:
        """Send a heartbeat for the held jobs, and follow the answer. Raises Away, Refused."""
        answer = self._post(self._in_flight.ids())
        answer = answer if isinstance(answer, dict) else {}
        self._directives.obey_heartbeat(standing_of(answer.get("state")) or Standing.RUNNING)
        for job_id in answer.get("cancelled_jobs") or ():
            context = self._in_flight.find(job_id)
            if context:
                context.cancel()

    def say_goodbye(self) -> None:
        """Report the end of the process. The server takes back jobs of a lost claim, too."""
        try:
            if not self._calls.leave(self._config.worker_id):
                self._post(())
        except (Away, Refused) as problem:
            logger.warning("heartbeat.failed", extra={"error": str(problem)})

    def _beat(self) -> None:
        attempts = Attempts(logger, "heartbeat.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        while not self._over.is_set():
            pause_s = BEAT_S
            try:
                self.send()
                attempts.went_well()
            except Exception as problem:  # any error: a worker that falls silent loses its jobs
                pause_s = min(attempts.failed(problem), BEAT_S)
            self._waits.beat.wait(pause_s)
            self._waits.beat.clear()

    def _post(self, ids: tuple[str, ...]) -> Any:
        # while jobs are held a terminating worker counts as quiet: it still answers for them
        own = self._directives.own
        config = self._config
        body: dict[str, Any] = {
            "worker_id": config.worker_id,
            "state": (Standing.QUIET if ids and own else own).name.lower(),
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
