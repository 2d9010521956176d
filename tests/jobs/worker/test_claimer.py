"""The claims of a worker process, from the inside."""

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection

from jobs.domain.claim import FetchRequest
from jobs.domain.states import State, state_of
from jobs.models import Worker
from jobs.queries import Claimed
from jobs.services.dispatch.fetch import fetch
from jobs.services.read.show import show
from jobs.worker import claimer as module
from jobs.worker.config import WorkerConfig
from jobs.worker.engine import Engine
from tests.jobs.worker import ojs_jobs as handlers
from tests.jobs.worker.conftest import run
from tests.processes import DEADLINE_S, until
from tests.scheduling import pools
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


class SilentListener:
    """Listener that reports only calls of `wake`."""

    def __init__(self) -> None:
        """Start without a call of `wake`."""
        self.woken = threading.Event()

    def rounds(self) -> int:
        return 0

    def wait(self, seen: int, timeout_s: float) -> None:
        assert self.woken.wait(DEADLINE_S)

    def wake(self) -> None:
        self.woken.set()

    def stop(self) -> None:
        pass


@spec("GS-17")
def test_a_worker_is_known_before_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(WorkerConfig("w1", ("tests",), 1))
    known: list[bool] = []

    def claim(request: FetchRequest) -> Claimed:
        known.append(Worker.objects.filter(id=request.worker_id).exists())
        engine.directives.terminate()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)
    monkeypatch.setattr(engine.waits, "listener", SilentListener())

    assert run(engine) == 0
    assert known == [True]


def test_a_claim_whose_answer_was_lost_is_given_back_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    engine = Engine(WorkerConfig("w1", ("tests",), 1, once=True))
    claims: list[int] = []

    def claim(request: FetchRequest) -> Claimed:
        claimed = fetch(request)
        claims.append(len(claimed.jobs))
        if len(claims) == 1:
            raise OperationalError("the connection is lost")
        return claimed

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)

    assert run(engine) == 0
    assert claims[:2] == [1, 1]
    done = show(job.id)
    assert (state_of(done.state), done.attempt) == (State.COMPLETED, 1)


def test_a_worker_without_queues_asks_again_until_a_pool_gives_it_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    engine = Engine(WorkerConfig("w1", (), 1))
    refused: list[str] = []

    def rest(refusal: str) -> None:
        refused.append(refusal)
        pools.put("default", "tests")

    monkeypatch.setattr(engine.claimer, "_rest_after", rest)
    thread = threading.Thread(target=run, args=(engine,))
    thread.start()
    until(lambda: state_of(show(job.id).state) is State.COMPLETED, "the job")
    engine.directives.terminate()
    thread.join()

    assert refused == ["queues is required: no pool names queues"]


@pytest.fixture
def idle(store: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a worker that found no job and polls again in an hour."""
    for name in ("FIRST_POLL_S", "LAST_POLL_S"):
        monkeypatch.setattr(module, name, 3600.0)
    engine = Engine(WorkerConfig("w1", ("tests",), 1))
    thread = threading.Thread(target=run, args=(engine,))
    thread.start()
    until(lambda: len(listeners()) == 1, "LISTEN")
    yield
    engine.directives.terminate()
    thread.join()


def listeners() -> list[int]:
    """Return the process ids of sessions that listen in this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND query = 'LISTEN ojs_ready'"
        )
        return [row[0] for row in cursor.fetchall()]


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


@pytest.mark.usefixtures("idle")
def test_a_worker_whose_listen_connection_is_cut_looks_again_when_it_is_back() -> None:
    cut = listeners()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", cut)

    assert runs(1)
    until(lambda: len(listeners()) == 1 and listeners() != cut, "LISTEN")


@spec("GS-1")
def test_terminating_an_idle_worker_ends_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(WorkerConfig("w1", ("tests",), 1))
    listener = SilentListener()

    def claim(request: FetchRequest) -> Claimed:
        if not listener.woken.is_set():
            threading.Thread(target=engine.directives.terminate).start()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.claimer.fetch", claim)
    monkeypatch.setattr(engine.waits, "listener", listener)

    assert run(engine) == 0
