"""Run one attempt: middleware, handler, outcome. Spec: contract 12.2."""

from asyncio import CancelledError
from collections.abc import Callable
from typing import Any

from ojs_tasks.context import Context, run_as_current
from ojs_tasks.documents import dumps
from ojs_tasks.exceptions import JobTimeout
from ojs_tasks.worker.chain import Steps
from ojs_tasks.worker.errors import InvalidResult, described, server_error, timeout_error
from ojs_tasks.worker.ports import Ack, Nack


def execute(context: Context, steps: Steps) -> Ack | Nack:
    """Run an attempt in this thread to its end, and return the answer for it."""
    try:
        return _completed(context, run_as_current(context, steps.run))
    except BaseException as problem:  # any exception is the outcome, also SystemExit
        return _ended_by(problem, context)


async def execute_on_loop(
    context: Context, steps: Steps, is_late: Callable[[], bool]
) -> Ack | Nack:
    """Run an attempt as a task of the event loop; `is_late`: it was cancelled by its timeout."""
    try:
        return _completed(context, await steps.run(context))
    except BaseException as problem:
        if isinstance(problem, CancelledError) and is_late():
            context.raised = problem
            return timed_out(context)
        return _ended_by(problem, context)


def _completed(context: Context, result: Any) -> Ack:
    try:
        encoded = None if result is None else dumps(result)
    except ValueError as problem:
        raise InvalidResult(str(problem)) from None
    return Ack(context.job.id, encoded, context.worker_id, context.job.attempt)


def _ended_by(problem: BaseException, context: Context) -> Nack:
    context.raised = problem
    if isinstance(problem, JobTimeout):
        return timed_out(context)
    if isinstance(problem, InvalidResult):
        return failed(context, server_error("invalid_result", str(problem)))
    return failed(context, described(problem, context))


def failed(context: Context, error: dict[str, Any]) -> Nack:
    """Return the answer for a failed attempt."""
    return Nack(context.job.id, error, worker_id=context.worker_id, attempt=context.job.attempt)


def timed_out(context: Context) -> Nack:
    """Return the answer for an attempt that ran too long and was stopped."""
    limit_ms = context.job.timeout_ms
    return failed(context, timeout_error(limit_ms, limit_ms))
