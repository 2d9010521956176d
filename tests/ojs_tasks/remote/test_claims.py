"""The claims of a remote worker process, from the inside."""

from typing import Any

from ojs_tasks import Context
from ojs_tasks.remote.answers import RemoteAnswers, RemoteReturns
from ojs_tasks.remote.claims import RemoteClaims
from ojs_tasks.remote.client import Client
from ojs_tasks.remote.fetched import FetchedJob
from ojs_tasks.remote.settings import RemoteSettings
from ojs_tasks.remote.worker_calls import RemoteReports, WorkerCalls
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.execution import Execution
from ojs_tasks.worker.ports import Standing
from ojs_tasks.worker.waits import Waits


class EndingCalls(WorkerCalls):
    """Calls to a server without jobs; the job in flight ends during the first."""

    engine: Engine
    running: Context
    asked = 0

    def post(self, path: str, body: Any, *, timeout_s: float | None = None) -> Any:
        self.asked += 1
        self.engine.in_flight.forget(self.running)
        return {"jobs": []}


def test_a_worker_that_runs_once_asks_again_after_a_job_that_ended_during_an_empty_answer() -> None:
    client = Client(RemoteSettings("http://127.0.0.1:9"))
    calls = EndingCalls(client)
    answers = RemoteAnswers(calls)
    config = WorkerConfig("w1", ("shop",), 1, once=True)
    engine = calls.engine = Engine(config, Acker(answers), Waits(), Execution())
    calls.running = Context(FetchedJob.of({"id": "1", "type": "shop.add"}), "w1")
    engine.in_flight.add([calls.running])
    engine.directives.obey_heartbeat(Standing.RUNNING)
    returns = RemoteReturns("w1", engine.in_flight, answers)

    RemoteClaims(config, engine, calls, returns=returns, reports=RemoteReports(client, 0)).run()

    assert calls.asked == 2
