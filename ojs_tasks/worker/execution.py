"""Run one attempt: middleware, handler, outcome. Spec: contract 12.2."""

from asyncio import CancelledError
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from asgiref.sync import async_to_sync

from ojs_tasks.codecs.configured import coding
from ojs_tasks.context import Context, run_as_current
from ojs_tasks.documents import dumps
from ojs_tasks.exceptions import JobTimeout, Suspended
from ojs_tasks.job_errors import server_error, timeout_error
from ojs_tasks.registry import handler_of
from ojs_tasks.worker.chain import Steps, steps_for
from ojs_tasks.worker.errors import InvalidResult, described, leaves_of
from ojs_tasks.worker.failures import log_failure
from ojs_tasks.worker.ports import Ack, Nack, Outcome, Suspend

Run = TypeVar("Run", bound=Callable[..., Any])


class Around(Protocol):
    """Decorates a function, or coroutine function, that takes a context and runs its attempt."""

    def __call__(self, run: Run, /) -> Run:
        """Return the function, or another one around it."""


def _unchanged(run: Run) -> Run:
    return run


def _accept(encoded: bytes) -> None:
    """Accept any result: the server checks it."""


class Execution:
    """Runs attempts, as the two functions `execute` and `execute_on_loop`."""

    def __init__(
        self,
        *,
        around: Around = _unchanged,
        check: Callable[[bytes], None] = _accept,
        refusals: tuple[type[Exception], ...] = (),
    ) -> None:
        """Run each attempt within `around`; `check` raises one of `refusals` for a bad result."""
        self._check = check
        self._refusals: tuple[type[Exception], ...] = (InvalidResult, *refusals)
        self.execute = around(self._execute)
        self.execute_on_loop = around(self._execute_on_loop)

    def _execute(self, context: Context, steps: Steps | None = None) -> Outcome:
        """Run an attempt in this thread to its end, and return the answer for it.

        Coroutines run on an event loop that ends with the attempt.
        """
        try:
            steps = steps or steps_for(handler_of(context.job))
            run = async_to_sync(steps.run) if steps.on_loop else steps.run
            return self._completed(context, run_as_current(context, run))
        except BaseException as problem:  # any exception is the outcome, also SystemExit
            return self._ended_by(problem, context)

    async def _execute_on_loop(
        self, context: Context, steps: Steps, is_late: Callable[[], bool]
    ) -> Outcome:
        """Run an attempt as a task of the event loop; `is_late`: its timeout cancelled it."""
        try:
            return self._completed(context, await steps.run(context))
        except BaseException as problem:
            if isinstance(problem, CancelledError) and is_late():
                context.raised = problem
                outcome = timed_out(context)
                log_failure(problem, outcome, context)
                return outcome
            return self._ended_by(problem, context)

    def _completed(self, context: Context, result: Any) -> Ack | Nack:
        """Return the answer for an attempt that returned; a refused result fails it.

        Only this check makes an `invalid_result`: a handler may raise the same classes itself, for
        example when the server refuses a job that it enqueues.
        """
        try:
            encoded = None if result is None else self._encode(result, context.type)
        except self._refusals as problem:
            context.raised = problem
            return failed(context, server_error("invalid_result", str(problem)))
        return Ack(context.job.id, encoded, context.worker_id, context.job.attempt)

    def _encode(self, result: Any, job_type: str) -> bytes:
        """Serialize a result. Raises a refusal."""
        try:
            encoded = dumps(coding().result(result, job_type))
        except ValueError as problem:
            raise InvalidResult(str(problem)) from None
        self._check(encoded)
        return encoded

    def _ended_by(self, problem: BaseException, context: Context) -> Nack | Suspend:
        if (suspended := _suspension(problem)) is not None:
            return Suspend(
                context.job.id,
                suspended.step,
                suspended.until,
                suspended.signals,
                context.worker_id,
                context.job.attempt,
                context.job.started_at,
            )
        context.raised = problem
        outcome = self._outcome_of(problem, context)
        log_failure(problem, outcome, context)
        return outcome

    def _outcome_of(self, problem: BaseException, context: Context) -> Nack:
        if isinstance(problem, JobTimeout):
            return timed_out(context)
        return failed(context, described(problem, context))


def _suspension(problem: BaseException) -> Suspended | None:
    """Return the suspension that ended an attempt; a group must contain nothing else."""
    leaves = list(leaves_of(problem))
    suspended = [one for one in leaves if isinstance(one, Suspended)]
    others = [one for one in leaves if not isinstance(one, Suspended | CancelledError)]
    return suspended[-1] if suspended and not others else None


def failed(context: Context, error: dict[str, Any]) -> Nack:
    """Return the answer for a failed attempt."""
    return Nack(context.job.id, error, worker_id=context.worker_id, attempt=context.job.attempt)


def timed_out(context: Context) -> Nack:
    """Return the answer for an attempt that ran too long and was stopped."""
    limit_ms = context.job.timeout_ms
    return failed(context, timeout_error(limit_ms, limit_ms))
