"""Workflows in the database of this process."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction

from jobs.models import Job
from jobs.testing import run_available
from ojs_tasks import (
    Discard,
    Refused,
    ResultTimeout,
    UncommittedJob,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowHandle,
    WorkflowNotFound,
    aget_workflow,
    batch,
    chain,
    current_job,
    get_workflow,
    group,
    job,
)
from tests.concurrency import threads, until
from tests.workflows.flows import claimed, complete, fail
from workflows.models import Workflow

pytestmark = pytest.mark.usefixtures("listening")

WAIT_S = 30  # far longer than a wake-up takes


@pytest.fixture
def add(listening: None) -> Any:
    """Return a handler that adds a number to the results of the steps before."""

    @job("tests.add", retry={"max_attempts": 1})
    def add(number: int) -> int:
        if number < 0:
            raise ValueError("negative")
        last = (current_job().parent_results or [0])[-1] or 0
        return number + (sum(last) if isinstance(last, list) else last)

    return add


def awaited() -> int:
    """Return the number of rows that listeners have named."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ojs_awaited")
        return int(cursor.fetchone()[0])


def while_waiting(handle: WorkflowHandle[Any], end: Callable[[], object]) -> "Future[Any]":
    """Wait for a result in another thread, and call `end` after the listener named the workflow."""
    with threads(1) as start:
        waiting = start(lambda: get_workflow(handle.id).result(WAIT_S))
        until(lambda: awaited() == 1)
        end()
    return waiting


def test_a_chain_passes_results_on(add: Any) -> None:
    handle = chain(add.s(1), group(add.s(2), add.s(3)), add.s(4), name="sums").enqueue()
    assert (handle.name, handle.state, handle.progress.total) == ("sums", "running", 4)

    run_available()

    assert handle.result(0) == 4 + 2 + 3
    assert handle.results() == [1, [2, 3], 9]
    assert handle.refresh().progress == (4, 0, 4)
    assert get_workflow(handle.id) == handle


def test_a_batch_calls_back(add: Any) -> None:
    handle = batch([add.s(1), add.s(-1)], on_complete=add.s(5), on_failure=add.s(6)).enqueue()
    run_available(raises=False)

    assert handle.result(0) == [1, None]
    assert [one.state for one in handle.callbacks] == ["completed", "completed"]


def test_a_failed_callback_is_named_before_the_failed_job(add: Any) -> None:
    handle = batch([add.s(-1)], on_failure=add.s(-2)).enqueue()
    run_available(raises=False)

    with pytest.raises(WorkflowFailed, match="step on_failure"):
        handle.result(0)


def test_a_failed_step_is_named_with_the_exception_of_its_handler(add: Any) -> None:
    handle = chain(add.s(1), add.s(-1), add.s(2)).enqueue()
    run_available(raises=False)

    with pytest.raises(WorkflowFailed, match=r"step-1 \(tests.add\): ValueError") as raised:
        handle.result(0)
    assert raised.value.__cause__ is not None
    assert isinstance(raised.value.__cause__.__cause__, ValueError)


def test_a_workflow_joins_the_transaction(add: Any) -> None:
    with transaction.atomic():
        handle = chain(add.s(1), add.s(2)).enqueue()
        with pytest.raises(UncommittedJob, match=f"workflow {handle.id}"):
            handle.result(WAIT_S)
        transaction.set_rollback(True)

    assert not Job.objects.exists()
    assert not Workflow.objects.exists()
    with pytest.raises(WorkflowNotFound):
        handle.refresh()


def test_asynchronous_calls(add: Any) -> None:
    async def run() -> WorkflowHandle[Any]:
        handle = await group(add.s(1)).aenqueue()
        await handle.arefresh()
        with pytest.raises(ResultTimeout, match="it was running"):
            await handle.aresult(0)
        await (await aget_workflow(handle.id)).acancel()
        return handle

    handle = async_to_sync(run)()

    assert handle.refresh().state == "cancelled"
    with pytest.raises(Refused, match="cannot be cancelled"):
        handle.cancel()


def test_the_last_end_wakes_the_waiter(add: Any) -> None:
    handle = chain(add.s(1), add.s(2)).enqueue()

    def end() -> None:
        complete(*claimed(), result=1)
        complete(*claimed(), result=7)

    assert while_waiting(handle, end).result() == 7
    until(lambda: awaited() == 0)  # the listener forgets it after it has told the waiter


def test_a_failure_wakes_the_waiter(add: Any) -> None:
    handle = chain(add.s(1), add.s(2)).enqueue()

    waiting = while_waiting(handle, lambda: fail(*claimed()))

    with pytest.raises(WorkflowFailed, match="step-0"):
        waiting.result()


def test_a_cancel_wakes_the_waiter(add: Any) -> None:
    handle = chain(add.s(1), add.s(2)).enqueue()

    waiting = while_waiting(handle, lambda: get_workflow(handle.id).cancel())

    with pytest.raises(WorkflowCancelled):
        waiting.result()


def test_an_end_whose_transaction_began_before_the_wait_is_not_missed(add: Any) -> None:
    """The trigger ran before the listener named the workflow, and commits after its look."""
    handle = group(add.s(1)).enqueue()
    with threads(1) as start:
        with transaction.atomic():
            complete(*claimed(), result=1)
            waiting = start(lambda: get_workflow(handle.id).result(WAIT_S))
            until(lambda: awaited() == 1)
        assert waiting.result() == [1]


def test_a_workflow_without_a_waiter_notifies_nobody(add: Any) -> None:
    group(add.s(1)).enqueue()
    with connection.cursor() as cursor:
        cursor.execute("LISTEN ojs_ended")
    complete(*claimed(), result=1)

    assert list(connection.connection.notifies(timeout=0)) == []
    connection.close()


def test_a_wrong_step_is_refused_and_nothing_is_stored(add: Any) -> None:
    with pytest.raises(Refused) as raised:
        chain(add.s(1), add.options(priority=1000).s(2)).enqueue()

    assert raised.value.details["validation_errors"][0]["path"] == "$.steps[1].priority"
    assert not Job.objects.exists()


def test_a_discarded_step_fails_the_workflow(listening: None) -> None:
    @job("tests.discard")
    def stop() -> None:
        raise Discard("enough")

    handle = group(stop.s()).enqueue()
    run_available()

    with pytest.raises(WorkflowFailed, match="enough"):
        handle.result(0)
