"""Tasks for these tests; some note their start in `STARTED`."""

import asyncio
from typing import Any, Final

from ojs_tasks import Discard
from ojs_tasks.backends import options
from tests.ojs_tasks.backends.framework import TaskContext, task

STARTED: Final[list[Any]] = []


@task
def noop(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


@task
async def noop_async(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


@task
def add(a: int, *, b: int = 1) -> int:
    """Return the sum."""
    STARTED.append(a)
    return a + b


@task
async def add_async(a: int, *, b: int = 1) -> int:
    """Return the sum, later."""
    await asyncio.sleep(0)
    return a + b


@task
def value_error() -> None:
    """Fail."""
    raise ValueError("This task failed")


@task
async def value_error_async() -> None:
    """Fail."""
    raise ValueError("This task failed")


@task
def system_exit() -> None:
    """Fail with an exception that is no Exception."""
    raise SystemExit("This task failed")


@task
def complex_exception() -> None:
    """Fail with an exception whose argument is no text."""
    raise ValueError(ValueError("This task failed"))


@task
def complex_return_value() -> Any:
    """Return a value that JSON does not have."""
    return lambda: True


@task(takes_context=True)
def task_id(context: "TaskContext[..., Any]") -> str:
    """Return the id of its own result."""
    return context.task_result.id


@task(takes_context=True)
async def attempt_async(context: "TaskContext[..., Any]", *, wanted: int) -> bool:
    """Return whether it is this attempt."""
    return context.attempt == wanted


@task(takes_context=True)
@options(retry={"max_attempts": 3, "initial_interval": 60})
def third_time(context: "TaskContext[..., Any]") -> list[int]:
    """Fail twice, then return the attempt and the number of errors before it."""
    if context.attempt < 3:
        raise OSError(f"attempt {context.attempt}")
    return [context.attempt, len(context.task_result.errors)]


@task
@options(retry={"max_attempts": 3})
def discard() -> None:
    """End without the attempts that are left."""
    raise Discard("enough")


@task(queue_name="urgent", priority=7)
@options(type="tests.named", timeout=60, tenant="north", version="2")
def named(*args: Any) -> None:
    """Have a type of its own, and options."""


@task
@options(unique={"on_conflict": "ignore"})
def only_once() -> None:
    """Be unique."""


@task
@options(timeout=0.2)
def too_long() -> None:
    """Never end."""
    while True:
        pass
