"""Answers in batches, and answers that cannot be sent."""

from collections.abc import Iterator, Sequence

import pytest
from django.db import InternalError, OperationalError

from jobs.domain.states import State, state_of
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.services.read.show import show
from jobs.worker import answers
from ojs_tasks.worker import acker as module
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.ports import Outcome
from tests.factories import JobFactory
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def acker(store: None) -> Iterator[Acker]:
    """Return a running sender."""
    made = answers.acker()
    made.start()
    yield made
    made.stop(DEADLINE_S)


def active(queue: str) -> str:
    """Return the id of a claimed job."""
    return JobFactory.create(queue=queue, state=State.ACTIVE).id


def state(job_id: str) -> State:
    """Return the state of a job."""
    return state_of(show(job_id).state)


def test_answers_are_committed_when_send_returns(acker: Acker) -> None:
    done, failed = active("a"), active("b")

    acker.send(Ack(done), wait=True)
    acker.send(Nack(failed, {"type": "x", "code": "x", "message": "x"}), wait=True)

    assert (state(done), state(failed)) == (State.COMPLETED, State.RETRYABLE)


def test_flush_waits_for_answers_that_nobody_waits_for(acker: Acker) -> None:
    done = active("a")

    acker.send(Ack(done), wait=False)

    assert acker.flush(DEADLINE_S)
    assert state(done) is State.COMPLETED


@pytest.mark.parametrize("poison", [b'"\\u0000"', b"no json"], ids=["database", "serializer"])
def test_an_answer_that_can_never_be_stored_keeps_no_other(acker: Acker, poison: bytes) -> None:
    before, bad, after = active("a"), active("b"), active("c")

    for answer in (Ack(before), Ack(bad, poison), Ack(after)):
        acker.send(answer, wait=False)

    assert acker.flush(DEADLINE_S)
    assert [state(job) for job in (before, bad, after)] == [
        State.COMPLETED, State.ACTIVE, State.COMPLETED,
    ]  # fmt: skip


def test_answers_wait_for_a_database_that_is_away(
    acker: Acker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = active("a")
    problems = [OperationalError, OperationalError, InternalError]
    send = answers._send

    def away(batch: Sequence[Outcome]) -> None:
        if problems:
            raise problems.pop()
        send(batch)

    monkeypatch.setattr(module, "RETRY_S", 0.0)
    monkeypatch.setattr(answers, "_send", away)

    acker.send(Ack(done), wait=True)

    assert state(done) is State.COMPLETED


def test_a_full_batch_is_sent_before_its_time(
    acker: Acker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FULL", 3)
    monkeypatch.setattr(module, "LINGER_S", 3600.0)
    monkeypatch.setattr(module, "LONGEST_LINGER_S", 3600.0)
    acker.send(Ack(active("first")), wait=True)  # from now on outcomes gather for an hour
    jobs = [active(f"q{n}") for n in range(3)]

    for job in jobs:
        acker.send(Ack(job), wait=False)

    assert acker.flush(DEADLINE_S)
    assert {state(job) for job in jobs} == {State.COMPLETED}


def test_a_waiting_thread_lets_gathered_outcomes_be_sent_at_once(
    acker: Acker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINGER_S", 3600.0)
    monkeypatch.setattr(module, "LONGEST_LINGER_S", 3600.0)
    acker.send(Ack(active("first")), wait=True)
    gathered, awaited = active("a"), active("b")

    acker.send(Ack(gathered), wait=False)
    acker.send(Ack(awaited), wait=True)

    assert {state(gathered), state(awaited)} == {State.COMPLETED}


def test_outcomes_gather_for_longer_only_after_a_large_batch(
    acker: Acker, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered: list[float] = []
    take = acker._take

    def noted(linger_s: float) -> object:
        gathered.append(linger_s)
        return take(linger_s)

    monkeypatch.setattr(module, "BUSY", 2)
    monkeypatch.setattr(acker, "_take", noted)
    acker.send(Ack(active("first")), wait=True)
    with acker._changed:  # one batch
        for name in ("a", "b"):
            acker._waiting.append((Ack(active(name)), None))
    for name in ("c", "d", "e"):
        acker.send(Ack(active(name)), wait=True)

    assert gathered[:3] == [module.LINGER_S, module.LONGEST_LINGER_S, module.LINGER_S]


def test_a_refused_answer_is_only_noted(acker: Acker, caplog: pytest.LogCaptureFixture) -> None:
    job = active("a")
    acker.send(Ack(job), wait=True)

    acker.send(Ack(job), wait=True)

    assert state(job) is State.COMPLETED
    assert [record.message for record in caplog.records] == ["ack.refused"]
