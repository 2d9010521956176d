"""One worker process from the inside: what cannot be seen from without."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import OperationalError, connection

from jobs.domain.claim import FetchRequest
from jobs.domain.states import State, state_of
from jobs.handlers import Context
from jobs.models import Worker
from jobs.queries import Claimed
from jobs.services.dispatch.fetch import fetch
from jobs.services.read.show import show
from jobs.services.workers.heartbeat import Answer, Report, Standing, heartbeat
from jobs.worker import engine as module
from jobs.worker.engine import Engine, Terms
from tests.factories import JobFactory
from tests.processes import DEADLINE_S, until
from tests.scheduling import pools
from tests.spec import spec
from tests.worker import ojs_jobs as handlers

pytestmark = pytest.mark.usefixtures("store")


def run(engine: Engine) -> int:
    """Run a worker in this thread until it ends, with all its threads and connections."""
    others = set(threading.enumerate())
    code = engine.run()
    engine._listener.stop()
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith("ojs-"):
            thread.join(DEADLINE_S)
    connection.close()
    return code


class SilentListener:
    """Notices nothing but the call of `wake`."""

    def __init__(self) -> None:
        """Be not woken yet."""
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
    engine = Engine(Terms("w1", ("tests",), 1))
    known: list[bool] = []

    def claim(request: FetchRequest) -> Claimed:
        known.append(Worker.objects.filter(id=request.worker_id).exists())
        engine.terminate()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.engine.fetch", claim)
    monkeypatch.setattr(engine, "_listener", SilentListener())

    assert run(engine) == 0
    assert known == [True]


@spec("GS-15")
def test_no_report_follows_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Terms("w1", ("tests",), 1))
    stored: list[Standing] = []
    under_way, at_the_end = threading.Event(), threading.Event()
    join = engine._beats.join

    def joined(timeout: float | None = None) -> None:
        at_the_end.set()
        join(timeout)

    def report(given: Report) -> Answer:
        is_late = threading.current_thread() is engine._beats and engine._own
        if is_late:
            under_way.set()
            assert at_the_end.wait(DEADLINE_S)
        answer = heartbeat(given)
        stored.append(given.standing)
        if given.standing is Standing.TERMINATE:
            at_the_end.set()
        return answer

    def claim(request: FetchRequest) -> Claimed:
        engine.quiet()
        assert under_way.wait(DEADLINE_S)
        engine.terminate()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.engine.heartbeat", report)
    monkeypatch.setattr("jobs.worker.engine.fetch", claim)
    monkeypatch.setattr(engine._beats, "join", joined)

    assert run(engine) == 0
    assert stored[-2:] == [Standing.QUIET, Standing.TERMINATE]
    assert Worker.objects.get(id="w1").stopped_at is not None


def test_a_claim_whose_answer_was_lost_is_given_back_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    engine = Engine(Terms("w1", ("tests",), 1, once=True))
    claims: list[int] = []

    def claim(request: FetchRequest) -> Claimed:
        claimed = fetch(request)
        claims.append(len(claimed.jobs))
        if len(claims) == 1:
            raise OperationalError("the connection is lost")
        return claimed

    monkeypatch.setattr("jobs.worker.engine.fetch", claim)

    assert run(engine) == 0
    assert claims[:2] == [1, 1]
    done = show(job.id)
    assert (state_of(done.state), done.attempt) == (State.COMPLETED, 1)


def test_a_worker_without_queues_asks_again_until_a_pool_gives_it_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = handlers.echo.enqueue(1)
    assert job is not None
    engine = Engine(Terms("w1", (), 1))
    refused: list[str] = []

    def rest(refusal: str) -> None:
        refused.append(refusal)
        pools.put("default", "tests")

    monkeypatch.setattr(engine, "_rest_after", rest)
    thread = threading.Thread(target=run, args=(engine,))
    thread.start()
    until(lambda: state_of(show(job.id).state) is State.COMPLETED, "the job")
    engine.terminate()
    thread.join()

    assert refused == ["queues is required, since no pool names any"]


@pytest.fixture
def idle(store: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a worker that found nothing and, left alone, looks again in an hour."""
    for name in ("FIRST_POLL_S", "LAST_POLL_S"):
        monkeypatch.setattr(module, name, 3600.0)
    engine = Engine(Terms("w1", ("tests",), 1))
    thread = threading.Thread(target=run, args=(engine,))
    thread.start()
    until(lambda: len(listeners()) == 1, "LISTEN")
    yield
    engine.terminate()
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
    engine = Engine(Terms("w1", ("tests",), 1))
    listener = SilentListener()

    def claim(request: FetchRequest) -> Claimed:
        if not listener.woken.is_set():
            threading.Thread(target=engine.terminate).start()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.engine.fetch", claim)
    monkeypatch.setattr(engine, "_listener", listener)

    assert run(engine) == 0


HOLDING_A_LOCK = """
import signal, threading
from jobs.worker.signals import answer

lock, answered = threading.Lock(), threading.Event()

def act():
    with lock:
        answered.set()

answer({signal.SIGTERM: act})
with lock:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
answered.wait()
"""


def test_a_signal_may_arrive_while_the_main_thread_holds_the_lock_its_action_needs() -> None:
    subprocess.run([sys.executable, "-c", HOLDING_A_LOCK], check=True, timeout=DEADLINE_S)


def test_the_claiming_thread_is_woken_when_half_of_a_grown_window_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both ends of the rule agree, whatever size the pace has given the window."""
    engine = Engine(Terms("w1", ("default",), concurrency=10))
    monkeypatch.setattr(engine._pace, "per", lambda _seconds, _ended: 100)
    job = show(JobFactory.create().id)
    held = [Context(replace(job, id=str(n)), "w1") for n in range(52)]
    engine._held = {context.job.id: context for context in held}

    assert engine._free() == 0
    engine._forget(held[0])
    assert not engine._wake.is_set()
    engine._forget(held[1])

    assert engine._wake.is_set()
    assert engine._free() == 50
