"""Run one attempt: middleware, handler, outcome. Spec: contract 12.2."""

import traceback
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from jobs import spans
from jobs.conf import conf
from jobs.domain.errors import InvalidPayload, ResultTooLarge
from jobs.domain.outcome import retry
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import MAX_INTERVAL_MS
from jobs.middleware import Wrapper, execution_chain
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from ojs_tasks.context import Context, run_as_current
from ojs_tasks.exceptions import JobTimeout, Retry
from ojs_tasks.handlers import Handler
from ojs_tasks.registry import handler_of

Step = Callable[[Context], Any]


@cache
def chain() -> Step:
    """Return the handler call wrapped in the configured middleware, the first outermost."""
    step: Step = _call
    for link in reversed(execution_chain().fix()):
        step = partial(_wrapped, link.wrapper, step)
    return step


def _wrapped(wrapper: Wrapper, following: Step, context: Context) -> Any:
    return wrapper(context, following)


def _call(context: Context) -> Any:
    handler = _handler(context)
    args = context.job.args
    returned = handler.run(jsonio.loads(args.encode() if isinstance(args, str) else args))
    if returned is not None:
        context.result = returned
    return context.result


def _handler(context: Context) -> Handler[Any, Any]:
    job = context.job
    handler = handler_of(job)
    if handler is None:
        of_version = "" if job.version is None else f" in version {job.version}"
        raise HandlerNotFound(f"no handler for job type {job.type!r}{of_version}")
    return handler


class HandlerNotFound(Exception):
    """This project has no handler of the job's type; another worker may."""

    code = "handler_not_found"


@spans.consuming
def execute(context: Context) -> Ack | Nack:
    """Run an attempt to its end and return the answer for it."""
    job = context.job
    try:
        result = run_as_current(context, chain())
        encoded = None if result is None else _encode(result)
    except JobTimeout as problem:
        context.raised = problem
        return timed_out(context)
    except (InvalidPayload, ResultTooLarge) as problem:
        context.raised = problem
        return failed(context, retry.server_error("invalid_result", problem.message))
    except BaseException as problem:  # any exception is the outcome, also SystemExit
        context.raised = problem
        error = describe(problem, context.error_details)
        return failed(context, {**error, **_retrying(context, problem)})
    return Ack(job.id, encoded, context.worker_id, job.attempt)


def _retrying(context: Context, problem: BaseException) -> dict[str, Any]:
    """Return the members of an error that decide about its retry."""
    if isinstance(problem, Retry):
        after_ms = problem.after_ms
        return {} if after_ms is None else {"retry_after_ms": min(after_ms, MAX_INTERVAL_MS)}
    handler = handler_of(context.job)
    return {} if handler is None or handler.retries(problem) else {"retryable": False}


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

    Never raises: exceptions may have any text, or none, and a `code` of any type.
    """
    frames = [
        _storable(f"{frame.filename}:{frame.lineno} in {frame.name}")
        for frame in traceback.extract_tb(problem.__traceback__)
    ]
    code = getattr(problem, "code", None)
    return retry.normalise_error(
        {
            "type": type(problem).__name__,
            "code": (_storable(code) if isinstance(code, str) else "") or "handler_error",
            "message": _text_of(problem) or type(problem).__name__,
            "backtrace": frames[-retry.MAX_FRAMES :],
            "details": details and {name: _storable(text) for name, text in details.items()},
        }
    )


def _text_of(problem: BaseException) -> str:
    try:
        return _storable(str(problem))
    except Exception:  # its `__str__` is broken
        return ""


def _storable(text: str) -> str:
    """Return the text without characters that PostgreSQL or UTF-8 cannot hold."""
    return text.replace("\0", "").encode(errors="replace").decode()
