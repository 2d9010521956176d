"""Waiting for results in the database of this process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction

import ojs_tasks
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.awaiting import listener
from ojs_tasks import JobCancelled, JobFailed, JobHandle, ResultTimeout, UncommittedJob, job
from tests.concurrency import threads, until

pytestmark = pytest.mark.usefixtures("listening")

WAIT_S = 30  # far longer than a wake-up takes
# sessions whose latest statement is one of a listener's
LISTENERS = (
    "FROM pg_stat_activity WHERE query ~ 'ojs_awaited|FOR SHARE SKIP LOCKED'"
    " AND pid <> pg_backend_pid() AND datname = current_database()"
)


class CardDeclined(Exception):
    """An error of handlers."""


def enqueued() -> JobHandle[Any]:
    """Enqueue a job without a worker."""

    @job("tests.await", retry={"max_attempts": 1})
    def handler() -> int:
        return 1

    handle: JobHandle[Any] = handler.enqueue()
    return handle


def claimed() -> Job:
    """Claim the only job."""
    (found,) = fetch(FetchRequest(("default",))).jobs
    return found


def awaited() -> int:
    """Return the number of jobs that listeners have named."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ojs_awaited")
        return int(cursor.fetchone()[0])


def while_waiting(handle: JobHandle[Any], end: Callable[[], object]) -> "Future[Any]":
    """Wait for a result in another thread, and call `end` after the listener named the job."""
    with threads(1) as start:
        waiting = start(lambda: ojs_tasks.get(handle.id).result(WAIT_S))
        until(lambda: awaited() == 1)
        end()
    return waiting


def test_the_result_of_an_ended_job_comes_at_once() -> None:
    handle = enqueued()
    ack([Ack(claimed().id, b'{"pages":2}')])

    assert handle.result(0) == {"pages": 2}
    assert handle.state == "completed"


def test_the_end_of_a_job_wakes_its_waiter() -> None:
    handle = enqueued()

    waiting = while_waiting(handle, lambda: ack([Ack(claimed().id, b"[1]")]))

    assert waiting.result() == [1]


def test_an_asynchronous_wait_leaves_the_loop_free() -> None:
    handle = enqueued()

    async def both() -> object:
        waiting = asyncio.ensure_future(handle.aresult(WAIT_S))
        while not await asyncio.to_thread(closing, awaited):
            pass
        await asyncio.to_thread(closing, lambda: ack([Ack(claimed().id, b"7")]))
        return await waiting

    assert async_to_sync(both)() == 7


def closing(work: Callable[[], Any]) -> Any:
    """Work in a thread, and close its connection."""
    try:
        return work()
    finally:
        connection.close()


@pytest.mark.parametrize("timeout", [0, 0.05, timedelta(milliseconds=50)])
def test_a_job_that_does_not_end_in_time_raises(timeout: Any) -> None:
    with pytest.raises(ResultTimeout, match="it was available"):
        enqueued().result(timeout)


def test_a_failed_job_raises_its_error_with_the_exception_of_the_handler() -> None:
    handle = enqueued()
    error = {"type": "CardDeclined", "code": "handler_error", "message": "no", "backtrace": ["a:1"]}

    waiting = while_waiting(handle, lambda: nack([Nack(claimed().id, error)]))

    with pytest.raises(JobFailed, match="CardDeclined: no") as raised:
        waiting.result()
    assert isinstance(raised.value.__cause__, CardDeclined)
    assert str(raised.value.__cause__) == "no"
    assert raised.value.backtrace == ("a:1",)
    assert (raised.value.type, raised.value.message) == ("CardDeclined", "no")


def test_a_cancelled_job_raises() -> None:
    handle = enqueued()

    waiting = while_waiting(handle, lambda: cancel(handle.id))

    with pytest.raises(JobCancelled):
        waiting.result()


def test_a_job_of_the_open_transaction_raises_instead_of_hanging() -> None:
    with transaction.atomic():
        handle = enqueued()

        with pytest.raises(UncommittedJob, match="after the commit"):
            handle.result(WAIT_S)


def test_a_job_that_ended_in_the_open_transaction_gives_its_result() -> None:
    with transaction.atomic():
        handle = enqueued()
        handle.cancel()

        with pytest.raises(JobCancelled):
            handle.result(WAIT_S)


def test_an_end_whose_transaction_began_before_the_wait_is_not_missed() -> None:
    """The trigger ran before the listener named the job, and commits after its look."""
    handle = enqueued()
    with threads(1) as start:
        with transaction.atomic():
            ack([Ack(claimed().id, b"1")])
            waiting = start(lambda: ojs_tasks.get(handle.id).result(WAIT_S))
            until(is_named)
        assert waiting.result() == 1


def is_named() -> bool:
    """Return whether a listener has named a job, as another session sees it."""
    return awaited() == 1


def test_a_wait_survives_the_loss_of_the_connection() -> None:
    handle = enqueued()

    def lose_and_end() -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_terminate_backend(pid) {LISTENERS}")
            assert cursor.rowcount == 1
        ack([Ack(claimed().id, b"1")])

    assert while_waiting(handle, lose_and_end).result() == 1


def test_all_waiters_of_a_process_share_one_connection() -> None:
    handler = job("tests.await")(lambda: 1)
    handles = [handler.enqueue() for _ in range(2)]
    with threads(4) as start:
        waiting = [start(partial(handle.result, WAIT_S)) for handle in handles * 2]
        until(lambda: awaited() == 2)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) {LISTENERS}")
            assert cursor.fetchone()[0] == 1
        for _ in handles:
            ack([Ack(claimed().id, b"1")])
        assert [one.result() for one in waiting] == [1] * 4


def test_the_listener_ends_when_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_idle_s", 0.0)
    handle = enqueued()

    with pytest.raises(ResultTimeout):
        handle.result(0.1)

    until(lambda: listener._thread is None)
    assert awaited() == 0


def test_a_job_without_a_waiter_notifies_nobody() -> None:
    connection.close()  # an earlier test may have left a handler of notifications
    enqueued()
    with connection.cursor() as cursor:
        cursor.execute("LISTEN ojs_ended")
    ack([Ack(claimed().id, b"1")])

    assert list(connection.connection.notifies(timeout=0)) == []
    connection.close()
