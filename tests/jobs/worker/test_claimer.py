"""The claims of a worker process, from the inside."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from django.db import OperationalError, connection

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire.ids import new_id
from jobs.models import Worker
from jobs.queries import Claimed
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack
from jobs.services.read.show import show
from jobs.worker import claimer as module
from jobs.worker.config import WorkerConfig
from jobs.worker.notices import Notices
from jobs.worker.process import WorkerProcess
from ojs_tasks import Context, job, registry
from ojs_tasks.worker.chain import Steps
from tests.jobs.worker import ojs_jobs as handlers
from tests.jobs.worker.conftest import run
from tests.processes import DEADLINE_S, until
from tests.scheduling import pools
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


class SilentNotices(Notices):
    """Notices that report only calls of `wake`."""

    def __init__(self) -> None:
        """Start without a call of `wake`."""
        super().__init__()
        self.woken = threading.Event()
        self.waits: list[float] = []

    def listen(self) -> None:
        pass

    def wait(self, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        assert self.woken.wait(DEADLINE_S)
        return True

    def wake(self) -> None:
        self.woken.set()


@spec("GS-17")
def test_a_worker_is_known_before_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1), SilentNotices())
    known: list[bool] = []

    def claim(request: FetchRequest) -> Claimed:
        known.append(Worker.objects.filter(id=request.worker_id).exists())
        process.directives.terminate()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)

    assert run(process) == 0
    assert known == [True]


def test_a_claim_whose_answer_was_lost_is_given_back_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1, once=True))
    claims: list[int] = []

    def claim(request: FetchRequest) -> Claimed:
        claimed = fetch(request)
        claims.append(len(claimed.jobs))
        if len(claims) == 1:
            raise OperationalError("the connection is lost")
        return claimed

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)

    assert run(process) == 0
    assert claims[:2] == [1, 1]
    done = show(job.id)
    assert (state_of(done.state), done.attempt) == (State.COMPLETED, 1)


def test_a_worker_that_runs_once_claims_again_after_a_job_that_ended_during_an_empty_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_handlers", {**registry._handlers})
    may_end, second = threading.Event(), list[str]()

    @job("tests.hold", queue="tests")
    def hold() -> None:
        may_end.wait(DEADLINE_S)

    hold.enqueue()
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1, once=True))

    def claim(request: FetchRequest) -> Claimed:
        claimed = fetch(request)
        if not claimed.jobs and not second:
            may_end.set()
            until(lambda: not process.in_flight.count(), "the end of the first job")
            added = handlers.echo.enqueue(2)
            assert added is not None
            second.append(added.id)
        return claimed

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)

    assert run(process) == 0
    assert state_of(show(second[0]).state) is State.COMPLETED


@spec("GS-5", "D-GS-1")
@pytest.mark.parametrize("verb", ["quiet", "terminate"])
def test_jobs_of_a_claim_that_ends_after_a_signal_go_back_unharmed(
    monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1))
    given: list[str] = []

    def claim(request: FetchRequest) -> Claimed:
        claimed = fetch(request)
        given.extend(one.id for one in claimed.jobs)
        if len(given) == 1:
            getattr(process.directives, verb)()
        return claimed

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)
    thread = threading.Thread(target=run, args=(process,))
    thread.start()
    until(lambda: bool(given) and state_of(show(job.id).state) is State.AVAILABLE, "the return")
    assert (show(job.id).attempt, process.in_flight.count()) == (0, 0)

    if verb == "quiet":
        process.directives.resume()
        until(lambda: state_of(show(job.id).state) is State.COMPLETED, "the job")
        process.directives.terminate()
    thread.join()

    expected = (State.COMPLETED, 1) if verb == "quiet" else (State.AVAILABLE, 0)
    assert (state_of(show(job.id).state), show(job.id).attempt) == expected
    assert given == [job.id] * (2 if verb == "quiet" else 1)


def test_a_worker_without_queues_asks_again_until_a_pool_gives_it_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    process = WorkerProcess(WorkerConfig("w1", (), 1))
    refused: list[str] = []

    def rest(refusal: str) -> None:
        refused.append(refusal)
        pools.put("default", "tests")

    monkeypatch.setattr(process.claimer, "_rest_after", rest)
    thread = threading.Thread(target=run, args=(process,))
    thread.start()
    until(lambda: state_of(show(job.id).state) is State.COMPLETED, "the job")
    process.directives.terminate()
    thread.join()

    assert refused == ["queues is required: no pool names queues"]


@pytest.fixture
def idle(store: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    """Run a worker that found no job and polls again in an hour."""
    for name in ("FIRST_POLL_S", "LAST_POLL_S"):
        monkeypatch.setattr(module, name, 3600.0)
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1))
    thread = threading.Thread(target=run, args=(process,))
    thread.start()
    until(lambda: session_of(process) is not None, "LISTEN")
    yield process
    process.directives.terminate()
    thread.join()


def session_of(process: WorkerProcess) -> int | None:
    """Return the process id of the session that listens and claims."""
    listening = process.notices._listening
    return None if listening is None or listening.closed else listening.info.backend_pid


def runs(value: int) -> bool:
    """Enqueue a job and wait until it is completed."""
    job = handlers.echo.enqueue(value)
    assert job is not None
    until(lambda: state_of(show(job.id).state) is State.COMPLETED, "the job")
    return True


@pytest.mark.usefixtures("idle")
def test_an_idle_worker_starts_a_job_when_it_is_notified() -> None:
    assert runs(1)
    assert runs(2)


def test_a_worker_whose_connection_is_cut_claims_on_a_new_one(idle: WorkerProcess) -> None:
    cut = session_of(idle)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [cut])

    assert runs(1)
    assert session_of(idle) != cut


@pytest.mark.parametrize("found", [1, 2], ids=["fewer", "all"])
def test_only_after_a_claim_of_fewer_jobs_than_it_asked_for_jobs_may_gather(
    monkeypatch: pytest.MonkeyPatch, job: Job, found: int
) -> None:
    notices = SilentNotices()
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1), notices)
    notices.wake()

    def claim(request: FetchRequest) -> Claimed:
        assert request.count == 2
        process.directives.terminate()
        return Claimed([replace(job, id=new_id()) for _ in range(found)], [])

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)
    monkeypatch.setattr(process.engine.slots, "start", lambda: None)
    monkeypatch.setattr(process.returns, "give_back", process.in_flight.drop)

    assert run(process) == 0
    assert notices.waits == ([module.GATHER_S] if found == 1 else [])


def test_jobs_behind_threads_that_end_no_job_are_given_back(
    monkeypatch: pytest.MonkeyPatch, job: Job
) -> None:
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1))
    process.directives.is_registered = True
    given_back: list[Job] = []

    def give_back(jobs: Sequence[Job]) -> None:
        given_back.extend(jobs)
        process.in_flight.drop(jobs)
        process.directives.terminate()

    process.in_flight.add([Context(replace(job, id=new_id()), "w1") for _ in range(5)])
    last = [process.in_flight._held[job_id].job for job_id in process.in_flight.ids()[2:]]
    monkeypatch.setattr(process.returns, "give_back", give_back)

    process.claimer.run()

    assert given_back == last


def test_while_a_handler_blocks_claims_acks_and_other_handlers_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()
    running: list[int] = []
    most: list[int] = []

    def execute(context: Context, _steps: Steps) -> Ack:
        running.append(1)
        most.append(len(running))
        if context.job.args == "[0]":
            assert go_on.wait(DEADLINE_S)
        running.pop()
        return Ack(context.job.id, None, context.worker_id, context.job.attempt)

    blocked, *others = [handlers.echo.enqueue(n) for n in range(30)]  # window: four jobs
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 2))
    monkeypatch.setattr(process.engine.slots, "_execute", execute)
    thread = threading.Thread(target=run, args=(process,))
    thread.start()
    ids = [job.id for job in others if job]
    until(lambda: {state_of(show(job_id).state) for job_id in ids} == {State.COMPLETED})

    assert len(ids) == 29
    assert blocked is not None
    assert state_of(show(blocked.id).state) is State.ACTIVE
    assert max(most) == 2
    go_on.set()
    until(lambda: state_of(show(blocked.id).state) is State.COMPLETED)
    process.directives.terminate()
    thread.join()


@spec("GS-1")
def test_terminating_an_idle_worker_ends_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = SilentNotices()
    process = WorkerProcess(WorkerConfig("w1", ("tests",), 1), notices)

    def claim(request: FetchRequest) -> Claimed:
        if not notices.woken.is_set():
            threading.Thread(target=process.directives.terminate).start()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)

    assert run(process) == 0
