"""Turn the exceptions of attempts into job errors. Spec: contract 5.5."""

import traceback
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ojs_tasks.codecs.errors import CodecFailed, CodecKeyUnknown
from ojs_tasks.context import Context
from ojs_tasks.exceptions import Retry
from ojs_tasks.job_errors import MAX_FRAMES, bounded
from ojs_tasks.registry import handler_of

MAX_WAIT_MS: Final = 2**40  # of a retry, on the wire


class InvalidResult(Exception):
    """The handler's result cannot be stored; the message says why."""


def described(problem: BaseException, context: Context) -> dict[str, Any]:
    """Turn an exception of an attempt into a job error, with what decides about its retry."""
    return describe(problem, context.error_details) | _retrying(problem, context)


def describe(problem: BaseException, details: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Turn an exception into a job error: class name, message, innermost frames last.

    A group with one exception, such as that of a TaskGroup, is described as this exception. Never
    raises: exceptions may have any text, or none, and a `code` of any type.
    """
    leaves = list(leaves_of(problem))
    frames = _frames(problem)
    if leaves != [problem]:
        frames += [frame for leaf in leaves for frame in _frames(leaf)]
    if len(leaves) == 1:
        problem = leaves[0]
    code = getattr(problem, "code", None)
    return bounded(
        {
            "type": type(problem).__name__,
            "code": _storable(code) if isinstance(code, str) else "",
            "message": _message(problem, leaves),
            "details": details and {name: _storable(text) for name, text in details.items()},
        },
        frames[-MAX_FRAMES:],
    )


def _retrying(problem: BaseException, context: Context) -> dict[str, Any]:
    """Return the members of an error that decide about its retry.

    A group is retried if each of its exceptions would be.
    """
    leaves = list(leaves_of(problem))
    if len(leaves) == 1 and isinstance(leaves[0], Retry):
        after_ms = leaves[0].after_ms
        return {} if after_ms is None else {"retry_after_ms": min(after_ms, MAX_WAIT_MS)}
    if any(isinstance(one, CodecFailed) for one in leaves):
        return {"retryable": False}
    if any(isinstance(one, CodecKeyUnknown) for one in leaves):
        return {}
    handler = handler_of(context.job)
    if handler is None or all(isinstance(one, Retry) or handler.retries(one) for one in leaves):
        return {}
    return {"retryable": False}


def leaves_of(problem: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group and of the groups in it; otherwise the exception itself."""
    if isinstance(problem, BaseExceptionGroup):
        for inner in problem.exceptions:
            yield from leaves_of(inner)
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
