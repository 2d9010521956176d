"""Tasks in the tests of projects: `run_now` and `in_memory` take the place of both servers."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

from ojs_tasks.testing import enqueued, in_memory, run_available, run_now
from tests.ojs_tasks.backends.conftest import QUEUES, TASKS, tasks
from tests.ojs_tasks.backends.framework import TaskResultStatus, task_backends

AWAY = {
    "BACKEND": "ojs_tasks.backends.HTTPBackend", "QUEUES": QUEUES,
    "OPTIONS": {"url": "http://127.0.0.1:1"},  # no server is there
}  # fmt: skip


@pytest.fixture(params=["database", "database, in memory", "http, in memory"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Have the tasks of a test in its database, or in memory in the place of each backend's."""
    with ExitStack() as stack:
        if request.param.startswith("http"):
            stack.enter_context(override_settings(TASKS={**TASKS, "default": AWAY}))
        if request.param.endswith("memory"):
            stack.enter_context(in_memory())
        else:
            request.getfixturevalue("db")
        yield request.param


def test_a_task_runs_at_its_enqueue(place: str) -> None:
    with run_now():
        result = tasks.add.enqueue(1, b=2)

    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    assert (result.args, result.kwargs, result.attempts) == ([1], {"b": 2}, 1)
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert tasks.add.get_result(result.id) == result


def test_an_asynchronous_task_runs_at_its_enqueue(place: str) -> None:
    with run_now():
        result = async_to_sync(tasks.add_async.aenqueue)(1, b=4)

    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 5)


def test_a_task_has_its_context_and_its_error(place: str) -> None:
    waits = tasks.task_id.enqueue()
    failed = tasks.value_error.enqueue()
    assert waits.status == TaskResultStatus.READY
    assert [one.state for one in enqueued()] == ["available", "available"]

    run_available(QUEUES, raises=False)
    waits.refresh()
    failed.refresh()

    assert waits.return_value == waits.id
    assert failed.status == TaskResultStatus.FAILED
    (error,) = failed.errors
    assert (error.exception_class, "tasks.py" in error.traceback) == (ValueError, True)
    assert failed.worker_ids == ["tests"]


def test_after_the_test_each_backend_has_its_own_server_again(db: None) -> None:
    backend: Any = task_backends["default"]
    with in_memory() as memory:
        assert backend.server is memory
        with run_now():
            assert backend.server.inner is memory

    assert type(backend.server).__name__ == "LocalServer"
