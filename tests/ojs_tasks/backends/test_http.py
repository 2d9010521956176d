"""`HTTPBackend` against a real server."""

import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from tests.conftest import Spawn
from tests.ojs_tasks.backends.conftest import QUEUES, RunTasks, tasks
from tests.ojs_tasks.backends.framework import (
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from tests.processes import DEADLINE_S, kill_family

SETTINGS = "tests.ojs_tasks.backends.http_settings"
UNKNOWN_ID = "0190a5b0-0000-7000-8000-000000000001"


@pytest.fixture(autouse=True)
def far(server: str, store: None) -> Iterator[None]:
    """Let tasks be at a served server."""
    settings: dict[str, Any] = {
        "BACKEND": "ojs_tasks.backends.HTTPBackend", "QUEUES": QUEUES, "OPTIONS": {"url": server},
    }  # fmt: skip
    at_commit = {**settings, "ENQUEUE_ON_COMMIT": True}
    with override_settings(TASKS={"default": settings, "at_commit": at_commit}):
        yield
        for alias in ("default", "at_commit"):
            task_backends[alias].server.close()  # type: ignore[attr-defined]


@pytest.fixture(params=["without an event loop", "on an event loop"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that calls a method of a task or a result, or its asynchronous form."""
    if request.param.startswith("without"):
        return lambda one, name, *args, **kwargs: getattr(one, name)(*args, **kwargs)
    return lambda one, name, *args, **kwargs: async_to_sync(getattr(one, f"a{name}"))(
        *args, **kwargs
    )


def test_a_task_is_enqueued_run_and_read(call: Callable[..., Any], run_tasks: RunTasks) -> None:
    result = call(tasks.add, "enqueue", 1, b=2)
    assert (result.status, result.args, result.kwargs) == (TaskResultStatus.READY, [1], {"b": 2})
    assert call(tasks.add, "get_result", result.id) == result
    run_tasks()
    call(result, "refresh")
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert result.attempts == 1


def test_a_failed_task_has_class_and_traceback(run_tasks: RunTasks) -> None:
    result = tasks.value_error.enqueue()
    run_tasks()
    result.refresh()
    assert (result.status, result.worker_ids) == (TaskResultStatus.FAILED, ["tests"])
    assert result.errors[0].exception_class is ValueError
    assert result.errors[0].traceback.endswith("ValueError: This task failed\n")


def test_a_task_keeps_its_settings(call: Callable[..., Any]) -> None:
    at = timezone.now() + timedelta(hours=1)
    chosen = tasks.noop.using(priority=-7, queue_name="urgent", run_after=at)
    assert call(chosen, "get_result", call(chosen, "enqueue").id).task == chosen


def test_a_missing_result_does_not_exist(call: Callable[..., Any]) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        call(tasks.noop, "get_result", UNKNOWN_ID)


def test_an_enqueue_over_http_joins_no_transaction() -> None:
    with transaction.atomic():
        result = tasks.noop.enqueue()
        transaction.set_rollback(True)
    assert tasks.noop.get_result(result.id).status == TaskResultStatus.READY


def test_with_enqueue_on_commit_a_rollback_leaves_no_task() -> None:
    chosen = tasks.noop.using(backend="at_commit")
    with transaction.atomic():
        lost = chosen.enqueue()
        transaction.set_rollback(True)
    with transaction.atomic():
        kept = chosen.enqueue()
    assert chosen.get_result(kept.id).id == kept.id
    with pytest.raises(TaskResultDoesNotExist):
        chosen.get_result(lost.id)


def test_a_worker_over_http_runs_tasks(server: str, spawn: Spawn) -> None:
    good = [tasks.add.enqueue(1), tasks.add_async.using(queue_name="urgent").enqueue(1)]
    bad = tasks.value_error_async.enqueue()
    process: subprocess.Popen[bytes] = spawn(
        "manage.py", "runworker", "--once", DJANGO_SETTINGS_MODULE=SETTINGS, HOST_SERVER=server
    )
    try:
        process.wait(DEADLINE_S)
    finally:
        kill_family(process.pid)
    for result in good:
        result.refresh()
        assert result.return_value == 2
    bad.refresh()
    assert bad.errors[0].exception_class is ValueError
    assert bad.errors[0].traceback.endswith("ValueError: This task failed\n")
