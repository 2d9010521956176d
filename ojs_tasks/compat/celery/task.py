"""`Task`: a handler with the interface of Celery's tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar

from ojs_tasks.compat.celery.errors import Foreign, MaxRetriesExceededError, Unsupported
from ojs_tasks.compat.celery.options import DELAY_S, call_terms, retries, task_terms
from ojs_tasks.compat.celery.results import AsyncResult
from ojs_tasks.context import Context, current_job
from ojs_tasks.decorator import job
from ojs_tasks.exceptions import Discard, Retry
from ojs_tasks.handlers import Handler
from ojs_tasks.signatures import Signature
from ojs_tasks.terms import with_terms

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class TaskSignature(Signature[R]):
    """A call of a task, for `delay`, `apply_async`, and the workflows of `ojs_tasks`."""

    def delay(self) -> AsyncResult[R]:
        """Enqueue the call."""
        return self.apply_async()

    def apply_async(self, **options: Any) -> AsyncResult[R]:
        """Enqueue the call with Celery's options. Raises Unsupported."""
        return _sent(self.set(**options))

    def set(self, **options: Any) -> "TaskSignature[R]":
        """Return the call with Celery's options. Raises Unsupported."""
        terms = call_terms(options, self.type)
        return replace(self, members=with_terms(self.members, terms, self.type))

    def __or__(self, other: object) -> NoReturn:
        """Raise Unsupported: `|` passes results as arguments, which chains of OJS do not."""
        raise Unsupported(
            "a | b is not supported: use ojs_tasks.chain(a, b), and read the earlier results in"
            " current_job().parent_results"
        )


@dataclass(frozen=True, slots=True)
class Request(Foreign):
    """The running task, as `self.request` of a bound task."""

    context: Context

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.context.id

    @property
    def retries(self) -> int:
        """The number of attempts before this one."""
        return self.context.attempt - 1

    @property
    def delivery_info(self) -> dict[str, Any]:
        """The queue, as `routing_key`."""
        return {"routing_key": self.context.queue}


class Task(Foreign, Generic[P, R]):
    """A task; `handler` is the handler that runs it, and `run` the function."""

    def __init__(self, function: Callable[..., Any], name: str, options: Mapping[str, Any]) -> None:
        """Register the handler. Raises Unsupported for an option, ValueError for a second task."""
        self.name = name
        self.options = dict(options)
        self.max_retries = retries(options)
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", name)
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.run = self._bound(function)
        self.handler: Handler[P, R] = job(name, **task_terms(options, name))(self.run)

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def __repr__(self) -> str:
        """Return the name."""
        return f"<Task {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        returned: R = self.run(*args, **kwargs)
        return returned

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        """Enqueue a task; it joins the caller's transaction."""
        return self.s(*args, **kwargs).delay()

    def delay_on_commit(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        """Enqueue a task, as `delay` does: no worker sees it before the commit."""
        return self.delay(*args, **kwargs)

    def apply_async(
        self,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AsyncResult[R]:
        """Enqueue a task with Celery's options. Raises Unsupported, or TypeError for arguments."""
        return self.signature(args, kwargs).apply_async(**options)

    def signature(
        self, args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None
    ) -> TaskSignature[R]:
        """Return a call that is not enqueued yet. Raises TypeError for arguments."""
        bound = self.handler.bind(tuple(args or ()), dict(kwargs or {}))
        return TaskSignature(self.name, bound, self.handler.members)

    def s(self, *args: P.args, **kwargs: P.kwargs) -> TaskSignature[R]:
        """Return a call with all its arguments: earlier results are no arguments of later steps."""
        return self.signature(args, kwargs)

    def si(self, *args: P.args, **kwargs: P.kwargs) -> TaskSignature[R]:
        """Return a call, as `s` does."""
        return self.signature(args, kwargs)

    def apply(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported("apply() is not supported: call the task, or use testing.run_now()")

    def AsyncResult(self, task_id: str) -> AsyncResult[R]:  # noqa: N802 - Celery's name
        """Return the result of a task by its id."""
        return AsyncResult(task_id)


class BoundTask(Task[P, R]):
    """A task with `bind=True`: its function takes the task as the first argument."""

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function.__get__(self)  # type: ignore[no-any-return]  # of a function

    @property
    def request(self) -> Request:
        """The running task. Raises RuntimeError outside of one."""
        return Request(current_job())

    def retry(  # noqa: PLR0913, PLR0917 - Celery's arguments
        self,
        args: None = None,
        kwargs: None = None,
        exc: BaseException | None = None,
        throw: bool = True,  # noqa: FBT001, FBT002 - Celery's order
        eta: datetime | None = None,
        countdown: float | None = None,
        max_retries: int | None = None,
        **options: Any,
    ) -> NoReturn:  # fmt: skip
        """End the attempt; another one follows after `countdown` seconds or at `eta`.

        Without both it follows after default_retry_delay. After the last retry it raises `exc`, or
        MaxRetriesExceededError. `max_retries` may lower the number of the task. Raises Unsupported.
        """
        if args is not None or kwargs is not None or options or not throw:
            raise Unsupported(
                "retry() takes exc, eta, countdown and max_retries: enqueue a new job for others"
            )
        done = current_job().attempt - 1
        if done >= self._limit(max_retries):
            raise self._last(exc)
        message = str(exc or "the task can be retried")
        if eta is not None:
            raise Retry(message, at=eta) from exc
        delay = self.options.get("default_retry_delay", DELAY_S)
        raise Retry(message, in_=delay if countdown is None else countdown) from exc

    def _limit(self, given: int | None) -> int:
        allowed = current_job().max_attempts - 1
        if given is not None and given > allowed:
            raise Unsupported(
                f"retry(max_retries={given}) exceeds the {allowed} retries of the job: set"
                f" max_retries={given} in the decorator of {self.name!r}"
            )
        return allowed if given is None else given

    def _last(self, exc: BaseException | None) -> BaseException:
        """Return the exception that ends the job, whatever its policy says."""
        if exc is None:
            return MaxRetriesExceededError(f"task {self.name!r} has no retries left")
        if self.handler.retries(exc):
            exc.code = Discard.code  # type: ignore[attr-defined]  # the server's sign of an end
        return exc


def _sent(call: Signature[Any]) -> AsyncResult[Any]:
    handle = call.enqueue()
    if handle is None:
        raise Unsupported(f"middleware dropped a task {call.type!r}, which has no result")
    return AsyncResult(handle.id)
