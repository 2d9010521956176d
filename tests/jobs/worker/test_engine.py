"""The end of a worker process."""

from threading import Thread

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Worker
from jobs.services.dispatch.fetch import fetch
from jobs.services.workers.heartbeat import Standing
from jobs.worker.config import WorkerConfig
from jobs.worker.process import WorkerProcess
from ojs_tasks import Context
from ojs_tasks.worker.engine import CLEAN, REPLACE, UNFINISHED
from tests.asserts import assert_state
from tests.factories import stored_ids
from tests.jobs.worker.conftest import run

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def process() -> WorkerProcess:
    """Return a process without queues of its own."""
    return WorkerProcess(WorkerConfig("w1", ("tests",), 1))


def claimed(process: WorkerProcess) -> Context:
    """Claim a job for the process."""
    stored_ids(1)
    (job,) = fetch(FetchRequest(("default",), count=1, worker_id="w1")).jobs
    context = Context(job, "w1")
    process.in_flight.add([context])
    return context


def test_a_process_without_jobs_ends_clean_and_reports_its_end(process: WorkerProcess) -> None:
    process.directives.terminate()

    assert run(process) == CLEAN
    assert Worker.objects.get(id="w1").reported == Standing.TERMINATE


def test_a_process_with_a_stuck_handler_is_replaced(process: WorkerProcess) -> None:
    process.directives.leave()

    assert run(process) == REPLACE


def test_jobs_that_have_not_started_are_given_back_before_the_drain(
    process: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.engine.slots, "start", lambda: None)
    context = claimed(process)
    process.directives.terminate()

    assert run(process) == CLEAN
    assert_state(State.AVAILABLE, context.job.id)


def test_jobs_that_do_not_end_in_time_are_given_back(
    process: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.engine, "_await_held", lambda _until: None)
    context = claimed(process)
    handler = Thread(target=process.in_flight.begin)  # of a handler that never ends
    handler.start()
    handler.join()
    process.directives.terminate()

    assert run(process) == UNFINISHED
    assert_state(State.AVAILABLE, context.job.id)
