"""Tasks in a real worker process, which finds them in the modules `tasks` of installed apps."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Spawn
from tests.ojs_tasks.backends.conftest import tasks
from tests.ojs_tasks.backends.framework import TaskResultStatus
from tests.processes import DEADLINE_S, kill_family

SETTINGS = "tests.ojs_tasks.backends.settings"


@pytest.fixture
def worker(store: None, spawn: Spawn) -> Any:
    """Return a function that runs all available tasks in a worker process."""
    started: list[subprocess.Popen[bytes]] = []

    def run() -> int:
        started.append(spawn("manage.py", "runworker", "--once", DJANGO_SETTINGS_MODULE=SETTINGS))
        return started[-1].wait(DEADLINE_S)

    yield run
    for process in started:
        if process.poll() is None:
            kill_family(process.pid)
        process.wait()


def test_a_worker_runs_the_tasks_of_all_queues(worker: Callable[[], int]) -> None:
    good = [
        tasks.add.enqueue(1, b=2),
        tasks.add_async.enqueue(1, b=2),
        tasks.add.using(queue_name="urgent").enqueue(1, b=2),
    ]
    bad = tasks.value_error.enqueue()
    late = tasks.too_long.enqueue()

    worker()

    for result in good:
        result.refresh()
        assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    bad.refresh()
    assert bad.status == TaskResultStatus.FAILED
    assert bad.errors[0].exception_class is ValueError
    assert bad.errors[0].traceback.endswith("ValueError: This task failed\n")
    late.refresh()
    assert late.status == TaskResultStatus.FAILED
    assert late.errors[0].exception_class.__name__ == "JobTimeout"
