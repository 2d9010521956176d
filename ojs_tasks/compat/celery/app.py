"""`shared_task`, and `Celery` with `task` and `send_task`."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Any,
    Concatenate,
    Final,
    Literal,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

from ojs_tasks.arguments import KEYWORDS
from ojs_tasks.compat.celery.errors import Foreign, Unsupported
from ojs_tasks.compat.celery.options import call_terms
from ojs_tasks.compat.celery.results import AsyncResult
from ojs_tasks.compat.celery.task import BoundTask, Task, TaskSignature
from ojs_tasks.terms import with_terms

P = ParamSpec("P")
R = TypeVar("R")
NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")  # a job type


class Bound(Protocol):
    """A decorator of functions that take the task first."""

    def __call__(
        self, function: Callable[Concatenate[BoundTask[..., Any], P], R], /
    ) -> BoundTask[P, R]: ...


class Plain(Protocol):
    """A decorator of functions."""

    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def shared_task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def shared_task(*, bind: Literal[True], name: str | None = None, **options: Any) -> Bound: ...
@overload
def shared_task(
    *, bind: Literal[False] = False, name: str | None = None, **options: Any
) -> Plain: ...
def shared_task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    bind: bool = False,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Make a task of a function, as Celery's decorator of the same name does.

    Without `name` the task is `module.function`. The worker runs it if a module `ojs_jobs` of an
    app imports it. Raises Unsupported for an option or a name that OJS does not have, ValueError
    for a second task of the same name.
    """

    def decorate(of: Callable[..., Any]) -> Task[..., Any]:
        named = name or f"{of.__module__}.{of.__name__}"
        if NAME.fullmatch(named) is None:
            raise Unsupported(f"the task name {named!r} is no job type: set name='shop.send_mail'")
        kind = BoundTask if bind else Task
        return kind(of, named, options)

    return decorate if function is None else decorate(function)


class Celery(Foreign):
    """The application object, for `@app.task` and `app.send_task`. It has no configuration."""

    def __init__(self, main: str = "", **options: Any) -> None:
        """Take the name. Raises Unsupported for brokers, backends and other options."""
        if options:
            raise Unsupported(
                f"Celery({', '.join(sorted(options))}) is not supported: OJS['SERVER'] names a"
                " server; without it jobs are in the database"
            )
        self.main = main
        self.task = shared_task

    def send_task(
        self,
        name: str,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AsyncResult[Any]:
        """Enqueue a task by its name. Raises Unsupported for an option."""
        arguments = [*(args or ()), *([{KEYWORDS: dict(kwargs)}] if kwargs else [])]
        members = with_terms({}, call_terms(options, name), name)
        return TaskSignature[Any](name, arguments, members).delay()

    def AsyncResult(self, task_id: str) -> AsyncResult[Any]:  # noqa: N802 - Celery's name
        """Return the result of a task by its id."""
        return AsyncResult(task_id)

    def autodiscover_tasks(self, *_packages: Any, **_options: Any) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported("workers import the module ojs_jobs of each app: import your tasks there")

    def config_from_object(self, *_source: Any, **_options: Any) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported("remove config_from_object: queues, limits and times are terms of tasks")
