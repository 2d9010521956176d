"""The features of Django's Tasks framework, one by one, as its own tests state them."""

import pickle
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings
from django.utils import timezone
from django.utils.module_loading import import_string

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State, state_of
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show
from jobs.testing import make_due
from ojs_tasks import Signature, get
from ojs_tasks.backends import DatabaseBackend
from ojs_tasks.backends.results import error_of
from tests.ojs_tasks.backends.conftest import TASKS, RunTasks, tasks
from tests.ojs_tasks.backends.framework import (
    InvalidTask,
    Task,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    task,
    task_backends,
)

pytestmark = pytest.mark.usefixtures("store")

Enqueue = Callable[..., Any]

UNKNOWN_ID = "0190a5b0-0000-7000-8000-000000000001"


@pytest.fixture(params=["enqueue", "aenqueue"])
def enqueue(request: pytest.FixtureRequest) -> Enqueue:
    """Return a function that enqueues a task, without and with an event loop."""
    if request.param == "enqueue":
        return lambda task, *args, **kwargs: task.enqueue(*args, **kwargs)
    return lambda task, *args, **kwargs: async_to_sync(task.aenqueue)(*args, **kwargs)


@pytest.fixture(params=["get_result", "aget_result"])
def get_result(request: pytest.FixtureRequest) -> Enqueue:
    """Return a function that reads the result of a task, without and with an event loop."""
    if request.param == "get_result":
        return lambda task, result_id: task.get_result(result_id)
    return lambda task, result_id: async_to_sync(task.aget_result)(result_id)


@pytest.fixture(params=["refresh", "arefresh"])
def refresh(request: pytest.FixtureRequest) -> Enqueue:
    """Return a function that refreshes a result, without and with an event loop."""
    if request.param == "refresh":
        return lambda result: result.refresh()
    return lambda result: async_to_sync(result.arefresh)()


def test_the_backend_supports_every_feature() -> None:
    backend = task_backends["default"]
    assert isinstance(backend, DatabaseBackend)
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority
    assert (backend.alias, backend.options, backend.queues) == (
        "default",
        {},
        {"default", "urgent"},
    )
    assert list(backend.check()) == []


@pytest.mark.parametrize("function", ["noop", "noop_async"])
def test_an_enqueued_task_is_ready(function: str, enqueue: Enqueue) -> None:
    chosen = getattr(tasks, function)
    assert isinstance(chosen, Task)
    before = timezone.now()

    result = enqueue(chosen, 1, two=3)

    assert result.status == TaskResultStatus.READY
    assert not result.is_finished
    assert before <= result.enqueued_at
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    assert (result.task, result.args, result.kwargs) == (chosen, [1], {"two": 3})
    assert (result.attempts, result.errors, result.backend) == (0, [], "default")
    with pytest.raises(ValueError, match="Task has not finished yet"):
        result.return_value  # noqa: B018


def test_a_result_is_read_by_its_id(enqueue: Enqueue, get_result: Enqueue) -> None:
    result = enqueue(tasks.noop, 1, two=3)
    assert get_result(tasks.noop, result.id) == result


def test_a_read_result_has_the_task_with_its_settings(get_result: Enqueue) -> None:
    at = timezone.now() + timedelta(hours=1)
    chosen = tasks.noop.using(priority=3, queue_name="urgent", run_after=at)
    result = chosen.enqueue()
    assert get_result(chosen, result.id).task == chosen


@pytest.mark.parametrize("result_id", [UNKNOWN_ID, "123", ""])
def test_a_missing_result_does_not_exist(result_id: str, get_result: Enqueue) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        get_result(tasks.noop, result_id)


def test_a_job_that_is_no_task_has_no_result(get_result: Enqueue) -> None:
    job = Signature[None]("subprocess.check_output", [["exit", "1"]]).enqueue()
    with pytest.raises(TaskResultDoesNotExist):
        get_result(tasks.noop, job.id)


def test_a_result_of_another_task_does_not_match(get_result: Enqueue) -> None:
    result = tasks.noop_async.enqueue()
    with pytest.raises(TaskResultMismatch, match="Task does not match"):
        get_result(tasks.noop, result.id)


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), {1, 2}, object()])  # noqa: DTZ001
def test_arguments_are_json(value: object, enqueue: Enqueue) -> None:
    with pytest.raises(TypeError, match="Unsupported type"):
        enqueue(tasks.noop, value)


def test_arguments_are_normalized(enqueue: Enqueue) -> None:
    result = enqueue(tasks.noop, (1, 2), b"text", key={"a": (None,)})
    assert (result.args, result.kwargs) == ([[1, 2], "text"], {"key": {"a": [None]}})


def test_arguments_must_fit_the_function(enqueue: Enqueue) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        enqueue(tasks.add, 1, c=2)
    with pytest.raises(TypeError, match=r"missing a required.* argument: 'wanted'"):
        enqueue(tasks.attempt_async)


def test_using_returns_a_new_task() -> None:
    now = timezone.now()
    same = tasks.noop.using()
    assert same == tasks.noop
    assert same is not tasks.noop

    later = tasks.noop.using(run_after=now)
    chained = later.using(priority=10)

    assert (chained.priority, chained.run_after) == (10, now)
    assert (later.priority, tasks.noop.run_after) == (0, None)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"priority": -101}, "priority must be a whole number between -100 and 100."),
        ({"priority": 101}, "priority must be a whole number between -100 and 100."),
        ({"priority": 3.1}, "priority must be a whole number between -100 and 100."),
        ({"queue_name": "other"}, "Queue 'other' is not valid for backend."),
        ({"run_after": datetime(2026, 1, 1)}, "run_after must be an aware datetime."),  # noqa: DTZ001
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidTask, match=problem):
        tasks.noop.using(**settings)


def test_a_backend_without_queues_takes_any() -> None:
    result = tasks.noop.using(queue_name="other", backend="any").enqueue()
    assert show(result.id).queue == "other"


def test_a_task_is_validated_again_at_its_enqueue(enqueue: Enqueue) -> None:
    chosen = tasks.noop.using(queue_name="urgent")
    only = {**TASKS["default"], "QUEUES": ["default"]}
    with (
        override_settings(TASKS={"default": only}),
        pytest.raises(InvalidTask, match="Queue 'urgent' is not valid"),
    ):
        enqueue(chosen)


def test_a_result_outlives_its_queue(get_result: Enqueue) -> None:
    result = tasks.noop.using(queue_name="urgent").enqueue()
    with override_settings(TASKS={"default": {**TASKS["default"], "QUEUES": ["default"]}}):
        assert get_result(tasks.noop, result.id).task.queue_name == "urgent"


def test_functions_are_those_of_modules() -> None:
    def inner() -> None:
        """Be no function of a module."""

    for wrong in (any, inner):
        with pytest.raises(InvalidTask, match="must be defined at a module level"):
            task(wrong)
    with pytest.raises(InvalidTask, match="does not have a first argument of 'context'"):
        task(takes_context=True)(tasks.add.func)


def test_a_task_is_called_without_a_job() -> None:
    assert tasks.add.call(1, b=2) == 3
    assert tasks.add_async.call(1) == 2
    assert async_to_sync(tasks.add.acall)(1) == 2
    assert async_to_sync(tasks.add_async.acall)(1, b=3) == 4


def test_names_and_paths() -> None:
    assert tasks.noop.name == "noop"
    assert tasks.noop.module_path == "tests.ojs_tasks.backends.tasks.noop"
    assert import_string(tasks.noop.module_path) is tasks.noop


if hasattr(Task, "_reconstruct"):  # Django 6.1 and later

    def test_a_task_and_its_result_can_be_pickled() -> None:
        result = tasks.noop.using(priority=3).enqueue(1)
        assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301


@pytest.mark.parametrize("function", ["add", "add_async"])
def test_a_run_task_is_successful(
    function: str, run_tasks: RunTasks, enqueue: Enqueue, refresh: Enqueue
) -> None:
    result = enqueue(getattr(tasks, function), 1, b=2)
    run_tasks()
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 0)

    refresh(result)

    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    assert result.is_finished
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert result.last_attempted_at == result.started_at
    assert (result.attempts, result.errors) == (1, [])


@pytest.mark.parametrize(
    ("function", "kind"),
    [("value_error", ValueError), ("value_error_async", ValueError), ("system_exit", SystemExit)],
)
def test_a_task_that_raises_has_failed(
    function: str, kind: type[BaseException], run_tasks: RunTasks, refresh: Enqueue
) -> None:
    chosen = getattr(tasks, function)
    result = chosen.enqueue()
    run_tasks()

    refresh(result)

    assert result.status == TaskResultStatus.FAILED
    assert result.is_finished
    with pytest.raises(ValueError, match="Task failed"):
        result.return_value  # noqa: B018
    (error,) = result.errors
    assert error.exception_class is kind
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert error.traceback.endswith(f"{kind.__name__}: This task failed\n")
    assert result.finished_at >= result.started_at >= result.enqueued_at
    assert (result.attempts, result.task) == (1, chosen)
    assert result.worker_ids == ["tests"]


def test_the_traceback_shows_the_source(run_tasks: RunTasks) -> None:
    result = tasks.complex_exception.enqueue()
    run_tasks()
    result.refresh()
    assert result.errors[0].exception_class is ValueError
    assert 'ValueError(ValueError("This task failed"))' in result.errors[0].traceback


def test_a_value_that_json_does_not_have_fails_the_task(run_tasks: RunTasks) -> None:
    result = tasks.complex_return_value.enqueue()
    run_tasks()
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].exception_class is TypeError
    assert "Unsupported type" in result.errors[0].traceback


def test_a_cancelled_task_has_failed() -> None:
    result = tasks.noop.enqueue()
    get(result.id).cancel()
    result.refresh()
    assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)


def test_the_context_has_the_result_and_the_attempt(run_tasks: RunTasks) -> None:
    own = tasks.task_id.enqueue()
    first = tasks.attempt_async.enqueue(wanted=1)
    run_tasks()
    own.refresh()
    first.refresh()
    assert own.return_value == own.id
    assert first.return_value is True


def test_each_attempt_counts_and_keeps_its_error(run_tasks: RunTasks) -> None:
    result = tasks.third_time.enqueue()
    run_tasks()
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 1)
    for _ in range(2):
        make_due()
        run_tasks()
    result.refresh()
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, [3, 2])
    assert result.attempts == 3
    assert [error.exception_class for error in result.errors] == [OSError, OSError]


def test_higher_priorities_run_first(run_tasks: RunTasks) -> None:
    tasks.STARTED.clear()
    for priority in (-100, 0, 5, 100, -1):
        tasks.add.using(priority=priority).enqueue(priority)
    run_tasks()
    assert tasks.STARTED == [100, 5, 0, -1, -100]


def test_a_deferred_task_waits_for_its_time(run_tasks: RunTasks) -> None:
    result = tasks.noop.using(run_after=timezone.now() + timedelta(hours=1)).enqueue()
    assert run_tasks() == []
    assert state_of(show(result.id).state) is State.SCHEDULED
    result.refresh()
    assert result.status == TaskResultStatus.READY
    make_due()
    assert len(run_tasks()) == 1


def test_times_are_naive_without_time_zones(run_tasks: RunTasks) -> None:
    at = timezone.make_naive(timezone.now()) + timedelta(hours=1)
    with override_settings(USE_TZ=False):
        chosen = tasks.noop.using(run_after=at)
        result = chosen.enqueue()
        assert timezone.is_naive(result.enqueued_at)
        assert chosen.get_result(result.id).task.run_after == at


@pytest.mark.parametrize("alias", ["dummy", "immediate"])
def test_another_backend_takes_the_same_tasks(alias: str, enqueue: Enqueue) -> None:
    with override_settings(TASKS={"default": TASKS[alias]}):
        result = enqueue(tasks.add, 1)
        assert result.task == tasks.add
        assert result.status == (
            TaskResultStatus.READY if alias == "dummy" else TaskResultStatus.SUCCESSFUL
        )


def test_a_task_of_another_backend_is_taken(run_tasks: RunTasks) -> None:
    with override_settings(TASKS={"default": TASKS["immediate"]}):
        plain = task(tasks.add.func)
    result = plain.enqueue(1)
    run_tasks()
    assert plain.get_result(result.id).return_value == 2


def test_an_error_without_a_traceback_is_shown(run_tasks: RunTasks) -> None:
    result = tasks.noop.enqueue()
    fetch(FetchRequest(("default",), worker_id="other"))
    result.refresh()
    assert (result.status, result.worker_ids) == (TaskResultStatus.RUNNING, ["other"])
    nack([Nack(result.id, {"type": "os.remove", "message": "no", "backtrace": ["a.js:1"]})])
    result.refresh()
    (error,) = result.errors
    assert error.traceback == "a.js:1\nos.remove: no\n"
    assert error.exception_class.__name__ == "JobFailed"


def test_the_class_name_of_an_error_imports_nothing() -> None:
    def kind(path: str) -> type[BaseException]:
        return error_of({"details": {"error_class": path}}).exception_class

    assert kind("builtins.OSError") is OSError
    with pytest.raises(ValueError, match=r"'subprocess.run' does not reference a valid exception"):
        kind("subprocess.run")
    with pytest.raises(ImportError, match=r"antigravity.Flying"):
        kind("antigravity.Flying")
