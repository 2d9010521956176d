"""Enqueueing, reading and cancelling in the database of this process."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

import ojs_tasks
from jobs.domain.states import State
from jobs.models import Job
from ojs_tasks import JobFailed, JobNotFound, Refused, Retry, current_job, job
from ojs_tasks.testing import run_available

pytestmark = pytest.mark.usefixtures("store")


def test_an_enqueue_joins_the_transaction() -> None:
    handler = job("tests.one")(lambda: None)

    with transaction.atomic():
        handler.enqueue()
        transaction.set_rollback(True)

    assert not Job.objects.exists()


def test_several_calls_take_one_statement() -> None:
    @job("tests.one", queue="many")
    def one(number: int) -> int:
        return number

    one.enqueue(0)  # makes the lane
    with CaptureQueriesContext(connection) as captured:
        handles = ojs_tasks.enqueue([one.s(n) for n in range(1, 50)])

    assert len(captured) == 1
    assert Job.objects.count() == 50
    assert [run.id for run in run_available()][1:] == [handle.id for handle in handles]
    assert handles[4].result(0) == 5


def test_no_calls_store_nothing() -> None:
    assert ojs_tasks.enqueue([]) == []


def test_an_asynchronous_enqueue_stores_the_job() -> None:
    @job("tests.one")
    async def one(number: int) -> int:
        return number

    handle = async_to_sync(one.aenqueue)(1)

    assert ojs_tasks.get(handle.id).type == "tests.one"
    assert async_to_sync(ojs_tasks.aget)(handle.id) == handle


@pytest.mark.parametrize("job_id", ["0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55", "no-id"])
def test_an_unknown_job_raises(job_id: str) -> None:
    with pytest.raises(JobNotFound):
        ojs_tasks.get(job_id)
    with pytest.raises(JobNotFound):
        ojs_tasks.result(job_id, 1)


def test_a_handle_shows_progress_and_errors() -> None:
    @job("tests.one", retry={"max_attempts": 1})
    def one() -> None:
        current_job().progress(0.5, "half", {"page": 1})
        raise ValueError("no")

    handle = one.enqueue()
    run_available(raises=False)
    handle.refresh()

    assert (handle.state, handle.attempt, handle.progress) == ("discarded", 1, 0.5)
    assert (handle.snapshot.progress_message, handle.snapshot.progress_data) == (
        "half", {"page": 1},
    )  # fmt: skip
    assert [error["type"] for error in handle.errors] == ["ValueError"]
    with pytest.raises(JobFailed) as raised:
        handle.result()
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_cancelled_job_cannot_be_cancelled_again() -> None:
    handle = job("tests.one")(lambda: None).enqueue()
    handle.cancel()

    assert handle.state == "cancelled"
    with pytest.raises(Refused, match="cannot be cancelled"):
        async_to_sync(handle.acancel)()


def test_equal_ids_are_refused() -> None:
    job_id = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"
    handler = job("tests.one")(lambda: None)
    handler.options(id=job_id).enqueue()

    with pytest.raises(Refused) as raised:
        handler.options(id=job_id).enqueue()
    assert raised.value.code == "duplicate"


def test_a_unique_job_gives_the_handle_of_the_first() -> None:
    handler = job("tests.one", unique={"period": timedelta(hours=1), "on_conflict": "ignore"})(
        lambda: None
    )

    first, second = handler.enqueue(), handler.enqueue()

    assert first == second
    assert (first.snapshot.deduplicated, second.snapshot.deduplicated) == (False, True)


@pytest.mark.parametrize(
    ("problem", "state", "delay_ms"),
    [
        (Retry(in_=timedelta(minutes=10)), State.RETRYABLE, 600_000),
        (OSError("x"), State.RETRYABLE, 1000),
        (ValueError("x"), State.DISCARDED, None),
    ],
)
def test_a_handler_decides_about_its_retries(
    problem: Exception, state: State, delay_ms: int | None
) -> None:
    @job("tests.one", autoretry_for=(OSError,), retry={"jitter": False})
    def one() -> None:
        raise problem

    one.enqueue()
    (run,) = run_available(raises=False)

    assert run.state is state
    assert Job.objects.get().retry_delay_ms == delay_ms


def test_a_large_integer_is_a_result() -> None:
    handle: Any = job("tests.one")(lambda: 2**70).enqueue()
    run_available()

    assert handle.result(0) == 2**70
