"""Run one attempt: middleware, handler, outcome. Spec: contract 12.2."""

import traceback
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asgiref.sync import async_to_sync

from jobs import spans
from jobs.conf import conf
from jobs.domain.errors import InvalidPayload, ResultTooLarge
from jobs.domain.outcome import retry
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import MAX_INTERVAL_MS
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.worker.chain import Steps, steps_for
from ojs_tasks.context import Context, run_as_current
from ojs_tasks.exceptions import JobTimeout, Retry
from ojs_tasks.registry import handler_of


@spans.consuming
def execute(context: Context, steps: Steps | None = None) -> Ack | Nack:
    """Run an attempt in this thread to its end, and return the answer for it.

    Coroutines run on an event loop that ends with the attempt.
    """
    try:
        steps = steps or steps_for(handler_of(context.job))
        run = async_to_sync(steps.run) if steps.on_loop else steps.run
        return _completed(context, run_as_current(context, run))
    except BaseException as problem:  # any exception is the outcome, also SystemExit
        return _ended_by(problem, context)


@spans.consuming
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
    encoded = None if result is None else _encode(result)
    return Ack(context.job.id, encoded, context.worker_id, context.job.attempt)


def _ended_by(problem: BaseException, context: Context) -> Nack:
    context.raised = problem
    if isinstance(problem, JobTimeout):
        return timed_out(context)
    if isinstance(problem, InvalidPayload | ResultTooLarge):
        return failed(context, retry.server_error("invalid_result", problem.message))
    error = describe(problem, context.error_details)
    return failed(context, {**error, **_retrying(context, problem)})


def _retrying(context: Context, problem: BaseException) -> dict[str, Any]:
    """Return the members of an error that decide about its retry.

    A group is retried if each of its exceptions would be.
    """
    leaves = list(_leaves(problem))
    if len(leaves) == 1 and isinstance(leaves[0], Retry):
        after_ms = leaves[0].after_ms
        return {} if after_ms is None else {"retry_after_ms": min(after_ms, MAX_INTERVAL_MS)}
    handler = handler_of(context.job)
    if handler is None or all(isinstance(one, Retry) or handler.retries(one) for one in leaves):
        return {}
    return {"retryable": False}


def _encode(result: Any) -> bytes:
    """Serialize a result in a form that the database accepts; otherwise its ACK fails for ever.

    Raises InvalidPayload or ResultTooLarge.
    """
    encoded = jsonio.dumps(result)
    if jsonio.NUL in encoded:
        jsonio.loads(encoded)  # raises for the character itself, not for the text of the escape
    if len(encoded) > conf().max_result_bytes:
        raise ResultTooLarge.of("result", conf().max_result_bytes, len(encoded))
    return encoded


def failed(context: Context, error: dict[str, Any]) -> Nack:
    """Return the answer for a failed attempt."""
    return Nack(context.job.id, error, worker_id=context.worker_id, attempt=context.job.attempt)


def timed_out(context: Context) -> Nack:
    """Return the answer for an attempt that ran too long and was stopped."""
    limit_ms = context.job.timeout_ms
    return failed(context, retry.timeout_error(limit_ms, limit_ms))


def describe(problem: BaseException, details: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Turn an exception into a job error: class name, message, innermost frames last.

    A group with one exception, such as that of a TaskGroup, is described as this exception. Never
    raises: exceptions may have any text, or none, and a `code` of any type.
    """
    leaves = list(_leaves(problem))
    frames = _frames(problem)
    if leaves != [problem]:
        frames += [frame for leaf in leaves for frame in _frames(leaf)]
    if len(leaves) == 1:
        problem = leaves[0]
    code = getattr(problem, "code", None)
    return retry.normalise_error(
        {
            "type": type(problem).__name__,
            "code": (_storable(code) if isinstance(code, str) else "") or "handler_error",
            "message": _message(problem, leaves),
            "backtrace": frames[-retry.MAX_FRAMES :],
            "details": details and {name: _storable(text) for name, text in details.items()},
        }
    )


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group and of the groups in it; otherwise the exception itself."""
    if isinstance(problem, BaseExceptionGroup):
        for inner in problem.exceptions:
            yield from _leaves(inner)
    else:
        yield problem


def _frames(problem: BaseException) -> list[str]:
    return [
        _storable(f"{frame.filename}:{frame.lineno} in {frame.name}")
        for frame in traceback.extract_tb(problem.__traceback__)
    ]


def _message(problem: BaseException, leaves: list[BaseException]) -> str:
    text = _text_of(problem) or type(problem).__name__
    if len(leaves) > 1:
        text += ": " + "; ".join(f"{type(leaf).__name__}: {_text_of(leaf)}" for leaf in leaves)
    return text


def _text_of(problem: BaseException) -> str:
    try:
        return _storable(str(problem))
    except Exception:  # its `__str__` is broken
        return ""


def _storable(text: str) -> str:
    """Return the text without characters that PostgreSQL or UTF-8 cannot hold."""
    return text.replace("\0", "").encode(errors="replace").decode()
