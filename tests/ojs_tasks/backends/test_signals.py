"""The framework's signals: their senders, results and times."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction

from jobs.testing import make_due
from ojs_tasks.backends import DatabaseBackend
from tests.ojs_tasks.backends.conftest import RunTasks, tasks
from tests.ojs_tasks.backends.framework import (
    NAME,
    TaskResultStatus,
    task_enqueued,
    task_finished,
    task_started,
)

pytestmark = pytest.mark.usefixtures("store")

SIGNALS = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
Received = list[tuple[str, str, Any]]  # name of the signal, status, sender


@pytest.fixture
def received() -> Iterator[Received]:
    """Return the signals that were sent, with the result's status at this moment."""
    found: Received = []

    def taker(name: str) -> Callable[..., None]:
        def take(sender: Any, task_result: Any, **_kwargs: Any) -> None:
            found.append((name, task_result.status, sender))

        return take

    takers = {name: taker(name) for name in SIGNALS}
    for name, signal in SIGNALS.items():
        signal.connect(takers[name])
    yield found
    for name, signal in SIGNALS.items():
        signal.disconnect(takers[name])


def names(received: Received) -> list[tuple[str, str]]:
    """Return names and statuses, after a check of the senders."""
    assert {sender for _, _, sender in received} <= {DatabaseBackend}
    return [(name, status) for name, status, _ in received]


@pytest.mark.parametrize("function", ["add", "add_async"])
def test_a_task_sends_three_signals(function: str, received: Received, run_tasks: RunTasks) -> None:
    getattr(tasks, function).enqueue(1)
    assert names(received) == [("enqueued", TaskResultStatus.READY)]
    run_tasks()
    assert names(received)[1:] == [
        ("started", TaskResultStatus.RUNNING),
        ("finished", TaskResultStatus.SUCCESSFUL),
    ]


def test_an_enqueue_on_the_event_loop_sends_the_signal(received: Received) -> None:
    async_to_sync(tasks.add.aenqueue)(1)
    assert names(received) == [("enqueued", TaskResultStatus.READY)]


@pytest.mark.parametrize("function", ["value_error", "value_error_async"])
def test_a_failed_task_is_finished(function: str, received: Received, run_tasks: RunTasks) -> None:
    getattr(tasks, function).enqueue()
    run_tasks()
    assert names(received)[1:] == [
        ("started", TaskResultStatus.RUNNING),
        ("finished", TaskResultStatus.FAILED),
    ]


def test_a_task_is_finished_after_its_last_attempt(received: Received, run_tasks: RunTasks) -> None:
    tasks.third_time.enqueue()
    run_tasks()
    make_due()
    run_tasks()
    assert [name for name, _ in names(received)] == ["enqueued", "started", "started"]
    make_due()
    run_tasks()
    assert names(received)[-1] == ("finished", TaskResultStatus.SUCCESSFUL)


def test_a_discarded_task_is_finished_before_its_last_attempt(
    received: Received, run_tasks: RunTasks
) -> None:
    tasks.discard.enqueue()
    run_tasks()
    assert names(received)[-1] == ("finished", TaskResultStatus.FAILED)


def test_a_finished_result_has_value_and_times(run_tasks: RunTasks) -> None:
    found: list[Any] = []

    def take(task_result: Any, **_kwargs: Any) -> None:
        found.append(task_result)

    task_finished.connect(take)
    try:
        stored = [tasks.add.enqueue(1), tasks.value_error.enqueue()]
        run_tasks()
    finally:
        task_finished.disconnect(take)
    good, bad = found
    assert (good.id, good.return_value, good.worker_ids) == (stored[0].id, 2, ["tests"])
    assert good.enqueued_at <= good.started_at <= good.finished_at
    assert (bad.task, bad.errors[0].exception_class) == (tasks.value_error, ValueError)


def test_the_exception_of_a_receiver_does_not_fail_the_task(run_tasks: RunTasks) -> None:
    def fail(**_kwargs: Any) -> None:
        raise RuntimeError("receiver")

    task_started.connect(fail)
    task_finished.connect(fail)
    try:
        result = tasks.add.enqueue(1)
        run_tasks()
    finally:
        task_started.disconnect(fail)
        task_finished.disconnect(fail)
    result.refresh()
    assert result.status == TaskResultStatus.SUCCESSFUL


def test_the_framework_logs_each_step(
    run_tasks: RunTasks, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, NAME)
    good, bad = tasks.add.enqueue(1), tasks.value_error.enqueue()
    run_tasks()
    lines = [record for record in caplog.records if record.name == NAME]
    for result, outcome in ((good, "SUCCESSFUL"), (bad, "FAILED")):
        texts = [line.getMessage() for line in lines if result.id in line.getMessage()]
        assert ["enqueued" in texts[0], "RUNNING" in texts[1], outcome in texts[2]] == [True] * 3
    failed = lines[-1].exc_info
    assert failed is not None
    assert failed[0] is ValueError


def test_an_equal_unique_task_is_not_enqueued_again(received: Received) -> None:
    first, second = tasks.only_once.enqueue(), tasks.only_once.enqueue()
    assert first.id == second.id
    assert len(received) == 1


def test_the_signal_comes_in_the_transaction_of_the_enqueue(received: Received) -> None:
    with transaction.atomic():
        tasks.noop.enqueue()
        assert len(received) == 1
