"""One attempt: middleware, handler, outcome. Spec: contract 12.2."""

import traceback
from collections.abc import Callable
from functools import cache
from typing import Any

import orjson
from django.utils.module_loading import import_string

from jobs.conf import conf
from jobs.domain import jsonio, retry
from jobs.domain.errors import InvalidPayload
from jobs.handlers import Context, JobHandler, JobTimeout, handler_of, running
from jobs.services.ack import Ack
from jobs.services.nack import Nack

Step = Callable[[Context], Any]


@cache
def chain() -> Step:
    """Return the handler call wrapped in the configured middleware, the first outermost."""
    step: Step = _call
    for path in reversed(conf().execution_middleware):
        step = _wrap(import_string(path), step)
    return step


def _wrap(wrapper: Callable[[Context, Step], Any], following: Step) -> Step:
    return lambda context: wrapper(context, following)


def _call(context: Context) -> Any:
    handler = _handler(context)
    returned = handler.run(orjson.loads(context.job.args))
    return context.result if returned is None else returned


def _handler(context: Context) -> JobHandler[Any, Any]:
    handler = handler_of(context.job.type)
    if handler is None:
        raise HandlerNotFound(f"no handler for job type {context.job.type!r}")
    return handler


class HandlerNotFound(Exception):
    """This project has no handler of the job's type; another worker may."""

    code = "handler_not_found"


def execute(context: Context) -> Ack | Nack:
    """Run an attempt to its end and return what to answer."""
    job = context.job
    try:
        with running(context):
            result = chain()(context)
        encoded = None if result is None else jsonio.dumps(result)
    except JobTimeout:
        return failed(context, retry.timeout_error(job.timeout_ms, job.timeout_ms))
    except InvalidPayload as problem:
        return failed(context, retry.server_error("invalid_result", problem.message))
    except Exception as problem:  # whatever a handler raises is its outcome
        return failed(context, describe(problem))
    return Ack(job.id, encoded, context.worker_id, job.attempt)


def failed(context: Context, error: dict[str, Any]) -> Nack:
    """Return the answer for a failed attempt."""
    return Nack(context.job.id, error, worker_id=context.worker_id, attempt=context.job.attempt)


def describe(problem: Exception) -> dict[str, Any]:
    """Turn an exception into a job error: class name, message, innermost frames last."""
    frames = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(problem.__traceback__)
    ]
    return retry.normalise_error(
        {
            "type": type(problem).__name__,
            "code": getattr(problem, "code", None) or "handler_error",
            "message": str(problem).replace("\0", "") or type(problem).__name__,
            "backtrace": frames[-retry.MAX_FRAMES :],
        }
    )
