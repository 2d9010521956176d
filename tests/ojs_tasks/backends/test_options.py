"""Options of jobs for tasks: the decorator, `using`, and the OPTIONS of the backend."""

from typing import Any

import orjson
import pytest
from django.test import override_settings

from jobs.services.read.show import show
from ojs_tasks import UnknownTerm
from ojs_tasks.backends import options
from ojs_tasks.backends.names import type_of
from ojs_tasks.registry import handled_queues
from tests.ojs_tasks.backends.conftest import TASKS, RunTasks, tasks
from tests.ojs_tasks.backends.framework import TaskResultStatus, task

pytestmark = pytest.mark.usefixtures("store")


def attributes(job_id: str) -> dict[str, Any]:
    """Return the stored envelope members of a job."""
    found: dict[str, Any] = orjson.loads(show(job_id).attributes)
    return found


def test_a_task_runs_once_without_options() -> None:
    assert show(tasks.noop.enqueue().id).max_attempts == 1


def test_the_decorator_sets_type_and_options() -> None:
    job = show(tasks.named.enqueue().id)
    assert (job.type, job.queue, job.priority) == ("tests.named", "urgent", 7)
    assert (job.timeout_ms, job.max_attempts) == (60_000, 1)
    assert orjson.loads(job.meta)["tenant_id"] == "north"
    assert orjson.loads(job.version or "") == "2"


def test_using_takes_options_of_one_call() -> None:
    chosen = tasks.noop.using(retry={"max_attempts": 4}, tags=["a"]).using(timeout=5)
    job = show(chosen.enqueue().id)
    assert (job.max_attempts, job.timeout_ms) == (4, 5000)
    assert attributes(job.id)["tags"] == ["a"]
    assert chosen == tasks.noop
    assert show(tasks.noop.enqueue().id).max_attempts == 1


def test_the_decorator_above_a_task_sets_options() -> None:
    chosen = options(timeout=5)(tasks.noop)
    assert show(chosen.enqueue().id).timeout_ms == 5000
    with pytest.raises(TypeError, match="must be below @task"):
        options(type="tests.other")(tasks.noop)


def test_the_backend_has_options_for_all_its_tasks() -> None:
    retrying = {**TASKS["default"], "OPTIONS": {"retry": {"max_attempts": 5}, "tenant": "south"}}
    with override_settings(TASKS={"default": retrying}):
        job = show(tasks.noop.enqueue().id)
        own = show(tasks.named.enqueue().id)
    assert (job.max_attempts, orjson.loads(job.meta)["tenant_id"]) == (5, "south")
    assert (own.max_attempts, orjson.loads(own.meta)["tenant_id"]) == (5, "north")


@pytest.mark.parametrize(
    ("terms", "advice"),
    [
        ({"prioritty": 3}, "did you mean 'priority'"),
        ({"queue": "urgent"}, r"use queue_name=… of @task or using"),
        ({"delay": 5}, r"use using\(run_after=…\)"),
        ({"countdown": 5}, "Celery's name: use delay=60"),
        ({"retry": {"attempts": 3}}, "did you mean 'max_attempts'"),
    ],
)
def test_unknown_options_fail_at_import(terms: dict[str, Any], advice: str) -> None:
    with pytest.raises(UnknownTerm, match=advice):
        options(**terms)
    if "delay" not in terms:
        with pytest.raises(UnknownTerm, match=advice):
            tasks.noop.using(**terms)


def test_a_decorated_function_runs_with_other_backends() -> None:
    with override_settings(TASKS={"default": TASKS["immediate"]}):
        plain = task(options(retry={"max_attempts": 3})(tasks.add.func))
        assert type(options(timeout=3)(plain)) is type(plain)
        assert plain.enqueue(1).return_value == 2


def test_a_worker_takes_the_queues_of_the_backend() -> None:
    assert {"default", "urgent"} <= set(handled_queues())


def test_two_functions_have_two_types() -> None:
    with pytest.raises(ValueError, match=r"job type 'tests.named' has a handler already"):
        task(options(type="tests.named")(tasks.value_error.func))
    del tasks.value_error.func.__ojs_options__


def test_a_module_that_is_loaded_again_replaces_its_tasks(run_tasks: RunTasks) -> None:
    def again(*_args: Any, **_kwargs: Any) -> str:
        return "again"

    before = tasks.noop.func
    again.__module__, again.__qualname__ = before.__module__, before.__qualname__
    task(again)
    try:
        result = tasks.noop.enqueue()
        run_tasks()
    finally:
        task(before)
    result.refresh()
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, "again")


@pytest.mark.parametrize(
    ("path", "job_type"),
    [
        ("shop.tasks.send_mail", "shop.tasks.send_mail"),
        ("shop.tasks.Mailer.send", "shop.tasks.mailer.send-d57a7fe0fc67756b"),
        ("shop.tasks.mailer.Send", "shop.tasks.mailer.send-66759024cf2fe008"),
        ("shop._tasks.send", "shop.x_tasks.send-15f0ccf7e1875ceb"),
        ("shop.tasks.größe", "shop.tasks.gr__e-a0ae3e726157ebe5"),
    ],
)
def test_a_type_is_the_path_or_a_name_with_its_hash(path: str, job_type: str) -> None:
    assert type_of(path) == job_type


def test_a_long_path_has_a_type_of_the_longest_length() -> None:
    paths = [f"shop.{'tasks' * 60}.{last}" for last in ("a", "b")]
    types = {type_of(path) for path in paths}
    assert [len(one) for one in types] == [255, 255]
