"""Handlers of tasks: run the function, with its context and the framework's signals.

`task_finished` is sent after the end of the function and before the server stores the outcome.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from typing import Any, Final

from ojs_tasks.arguments import split
from ojs_tasks.backends import results
from ojs_tasks.backends.compat import (
    AnyTask,
    Signal,
    TaskContext,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from ojs_tasks.context import Context, current_job
from ojs_tasks.handlers import AsyncHandler, Handler, SyncHandler
from ojs_tasks.outcomes import is_final

LONGEST: Final = 16_000  # characters of a stored traceback: its end


@dataclass(eq=False)
class TaskHandler(SyncHandler[..., Any]):
    """The handler of a task with a plain function."""

    task: AnyTask = field(kw_only=True)

    @property
    def queues(self) -> frozenset[str]:
        """The queues of the task and of its backend."""
        return _queues(self.task)

    def run(self, args: Sequence[Any]) -> Any:
        """Run one attempt. Raises the exception of the function."""
        attempt = Attempt(self, self.task, args)
        attempt.send(task_started)
        try:
            attempt.succeed(self.task.func(*attempt.args, **attempt.kwargs))
        except BaseException as problem:
            if attempt.fail(problem):
                attempt.send(task_finished)
            raise
        attempt.send(task_finished)
        return attempt.returned


@dataclass(eq=False)
class AsyncTaskHandler(AsyncHandler[..., Any]):
    """The handler of a task with a coroutine function."""

    task: AnyTask = field(kw_only=True)

    @property
    def queues(self) -> frozenset[str]:
        """The queues of the task and of its backend."""
        return _queues(self.task)

    async def run(self, args: Sequence[Any]) -> Any:
        """Run one attempt. Raises the exception of the function."""
        attempt = Attempt(self, self.task, args)
        await attempt.asend(task_started)
        try:
            attempt.succeed(await self.task.func(*attempt.args, **attempt.kwargs))
        except BaseException as problem:
            if attempt.fail(problem):
                await attempt.asend(task_finished)
            raise
        await attempt.asend(task_finished)
        return attempt.returned


def handler_for(task: AnyTask, job_type: str) -> TaskHandler | AsyncTaskHandler:
    """Return a new handler of a task."""
    kind = AsyncTaskHandler if iscoroutinefunction(task.func) else TaskHandler
    return kind(task.func, job_type, {"queue": task.queue_name}, task=task)


def _queues(task: AnyTask) -> frozenset[str]:
    return frozenset({task.queue_name, *task.get_backend().queues})


class Attempt:
    """The attempt of the current job, and its TaskResult for the context and the signals."""

    def __init__(self, handler: Handler[..., Any], task: AnyTask, args: Sequence[Any]) -> None:
        """Begin with the state RUNNING."""
        self._handler = handler
        self._context: Context = current_job()
        shown = results.claimed(self._context)
        self._result = results.result_of(shown, results.restored(task, shown))
        self._sender = type(task.get_backend())
        positions, self.kwargs = split(args)
        self.args = tuple(positions)
        if task.takes_context:
            self.args = (TaskContext(task_result=self._result), *self.args)
        self.returned: Any = None

    def succeed(self, returned: Any) -> None:
        """Take the function's result. Raises TypeError or ValueError if it is no JSON."""
        self.returned = normalize_json(returned)
        self._end(TaskResultStatus.SUCCESSFUL)
        object.__setattr__(self._result, "_return_value", self.returned)

    def fail(self, problem: BaseException) -> bool:
        """Take the function's exception; returns whether no further attempt follows."""
        kind = type(problem)
        details = {
            "error_class": f"{kind.__module__}.{kind.__qualname__}",
            "traceback": "".join(traceback.format_exception(problem))[-LONGEST:],
            "worker_id": self._context.worker_id,
        }
        self._context.error_details = details
        self._result.errors.append(results.error_of({"details": details}))
        if not is_final(self._context, self._handler, problem):
            return False
        self._end(TaskResultStatus.FAILED)
        return True

    def send(self, signal: Signal) -> None:
        """Send a signal. Django logs the exceptions of receivers, and the attempt goes on."""
        signal.send_robust(self._sender, task_result=self._result)

    async def asend(self, signal: Signal) -> None:
        """Send a signal, as `send` does, without blocking the event loop."""
        await signal.asend_robust(self._sender, task_result=self._result)

    def _end(self, status: TaskResultStatus) -> None:
        object.__setattr__(self._result, "status", status)
        object.__setattr__(self._result, "finished_at", results.local(datetime.now(UTC)))
