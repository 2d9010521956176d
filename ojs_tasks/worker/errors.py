"""The errors that workers report: exceptions, timeouts, results that cannot be stored.

Spec: contract 5.5, 9.6.
"""

import traceback
from collections.abc import Iterator
from typing import Any, Final

from ojs_tasks.context import Context
from ojs_tasks.exceptions import Retry
from ojs_tasks.registry import handler_of

MAX_MESSAGE: Final = 10_000
MAX_FRAMES: Final = 50
MAX_BACKTRACE: Final = 10_000
MAX_NAME: Final = 255
MAX_WAIT_MS: Final = 2**40


class InvalidResult(Exception):
    """The handler's result cannot be stored; the message says why."""


def server_error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an error that no handler raised; `type` equals `code`."""
    error: dict[str, Any] = {"type": code, "code": code, "message": message, "retryable": True}
    return error | ({"details": details} if details else {})


def timeout_error(limit_ms: int, elapsed_ms: int) -> dict[str, Any]:
    """Return the error of an attempt that took too long."""
    details = {"timeout_kind": "execution", "limit_ms": limit_ms, "elapsed_ms": elapsed_ms}
    return server_error("timeout", f"the job ran longer than {limit_ms} ms", details)


def described(problem: BaseException, context: Context) -> dict[str, Any]:
    """Turn an exception of an attempt into a job error, with what decides about its retry."""
    details = context.error_details
    stored = {name: _storable(text) for name, text in details.items()} if details else None
    described = describe(problem) | _retrying(problem, context)
    return described | {"details": stored} if stored else described


def describe(problem: BaseException) -> dict[str, Any]:
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
    return {
        "type": type(problem).__name__[:MAX_NAME],
        "code": ((_storable(code) if isinstance(code, str) else "") or "handler_error")[:MAX_NAME],
        "message": _message(problem, leaves)[:MAX_MESSAGE],
        "retryable": True,
        "backtrace": _bounded(frames[-MAX_FRAMES:]),
    }


def _retrying(problem: BaseException, context: Context) -> dict[str, Any]:
    if isinstance(problem, Retry):
        after_ms = problem.after_ms
        return {} if after_ms is None else {"retry_after_ms": min(after_ms, MAX_WAIT_MS)}
    handler = handler_of(context.job)
    return {} if handler is None or handler.retries(problem) else {"retryable": False}


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


def _bounded(frames: list[str]) -> list[str]:
    """Keep the innermost frames that fit, in order."""
    kept: list[str] = []
    room = MAX_BACKTRACE
    for frame in reversed(frames):
        if len(frame) > room:
            break
        kept.append(frame)
        room -= len(frame)
    return kept[::-1]


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
