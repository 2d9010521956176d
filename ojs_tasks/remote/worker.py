"""`runworker --server`: run the handlers of this project for a server at a distance."""

import os
import secrets
import signal
from signal import SIGCONT, SIGINT, SIGTERM, SIGTSTP

from ojs_tasks import tracing
from ojs_tasks.remote.answers import RemoteAnswers, RemoteReturns
from ojs_tasks.remote.claims import RemoteClaims
from ojs_tasks.remote.client import Client
from ojs_tasks.remote.heartbeats import RemoteHeart
from ojs_tasks.remote.settings import RemoteSettings
from ojs_tasks.remote.worker_calls import RemoteReports, WorkerCalls
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.engine import CLEAN, DISMISSED, DISMISSED_UNFINISHED, Engine
from ojs_tasks.worker.execution import Execution
from ojs_tasks.worker.signals import answer
from ojs_tasks.worker.waits import Waits


class RemoteWorker:
    """One worker process."""

    def __init__(self, config: WorkerConfig, settings: RemoteSettings) -> None:
        """Prepare; no thread runs yet. Raises NoServer for unusable settings."""
        client = Client(settings)
        calls = WorkerCalls(client)
        answers = RemoteAnswers(calls)
        is_child = settings.trace_handlers == "child"
        execution = Execution(around=tracing.consuming(lambda: is_child))
        self._engine = Engine(config, Acker(answers), Waits(), execution)
        self._returns = RemoteReturns(config.worker_id, self._engine.in_flight, answers)
        self._heart = RemoteHeart(config, self._engine, calls)
        reports = RemoteReports(client, settings.retries)
        self._claims = RemoteClaims(
            config, self._engine, calls, returns=self._returns, reports=reports
        )
        self.directives = self._engine.directives

    def run(self) -> int:
        """Work until told to end, then drain. Returns an exit code.

        A worker that an operator of the server dismissed has a code of its own: its parent starts
        no other worker in its place.
        """
        code = self._engine.run(self._claims, self._heart, self._returns)
        if self.directives.is_dismissed:
            return DISMISSED if code == CLEAN else DISMISSED_UNFINISHED
        return code


def new_worker_id() -> str:
    """Make an identity of this process; a successor must not keep its jobs alive."""
    return f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}"


def run_child(config: WorkerConfig, settings: RemoteSettings) -> int:
    """Work in this process, and follow its signals."""
    worker = RemoteWorker(config, settings)
    signal.signal(SIGINT, signal.SIG_IGN)
    directives = worker.directives
    answer({SIGTERM: directives.terminate, SIGTSTP: directives.quiet, SIGCONT: directives.resume})
    return worker.run()
