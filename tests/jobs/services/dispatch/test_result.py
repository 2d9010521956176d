"""Requests that wait for the end of a job."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.domain.states import State, state_of
from jobs.services.dispatch import result as module
from jobs.services.dispatch.result import hold, job_or_wait
from jobs.services.dispatch.waiting import SLOTS, slots
from jobs.services.outcome.ack import Ack, ack
from jobs.services.read.awaiting import listener
from jobs.services.workers import draining
from tests.concurrency import threads, until
from tests.factories import JobFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("listening")

WAIT_S = 60  # far longer than a wake-up takes


@pytest.fixture
def listening(store: None) -> Iterator[None]:
    """End the connection of waiters after the test."""
    yield
    listener.stop()


def awaited() -> int:
    """Return the number of rows that listeners have named."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ojs_awaited")
        return int(cursor.fetchone()[0])


@spec("contract 24.6")
def test_the_end_of_the_job_answers_with_one_more_read() -> None:
    job = JobFactory.create(state=State.ACTIVE)

    def wait() -> tuple[State, int]:
        with CaptureQueriesContext(connection) as seen:
            found = job_or_wait(job, WAIT_S)
        return state_of(found.state), len(seen)

    with threads(1) as start:
        waiting = start(wait)
        until(lambda: awaited() == 1)
        ack([Ack(job.id, b"7")])

    assert waiting.result() == (State.COMPLETED, 1)
    until(lambda: awaited() == 0)


@spec("contract 24.6")
def test_the_wait_ends_with_its_time() -> None:
    job = JobFactory.create(state=State.ACTIVE)

    assert job_or_wait(job, 0.05).state == job.state


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED])
def test_an_ended_job_takes_no_slot(monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    monkeypatch.setattr(module, "slots", None)
    job = JobFactory.create(state=state)

    assert job_or_wait(job, WAIT_S) is job


def test_without_a_free_slot_nobody_waits() -> None:
    """Two of four threads may wait, whoever asks: for a job to claim, or for the end of one."""
    taken = [slots.acquire(blocking=False) for _ in range(SLOTS)]
    try:
        assert all(taken)
        assert not hold("", WAIT_S, _never)
    finally:
        for _ in taken:
            slots.release()


def _never(_row_id: str) -> "Future[None]":
    raise AssertionError("the listener was asked")


@pytest.mark.parametrize("problem", [None, RuntimeError("no listener")])
def test_each_wait_gives_its_slot_back(problem: Exception | None) -> None:
    def watch(_row_id: str) -> "Future[Any]":
        if problem:
            raise problem
        done: Future[Any] = Future()
        done.set_result(None)
        return done

    for _ in range(SLOTS + 1):
        if problem:
            with pytest.raises(RuntimeError):
                hold("one", WAIT_S, watch)
        else:
            assert hold("one", WAIT_S, watch)


def test_a_process_that_ends_holds_no_new_request(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(draining, "_over", over)
    over.set()
    job = JobFactory.create(state=State.ACTIVE)

    assert job_or_wait(job, WAIT_S).state == job.state
