"""The errors of jobs as they are stored, and those that no handler raised.

Spec: contract 5.5, 9.6, D27.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_tasks.documents import dumps

MAX_MESSAGE: Final = 10_000
MAX_FRAMES: Final = 50
MAX_BACKTRACE: Final = 10_000
MAX_DETAILS: Final = 32 * 1024
MAX_NAME: Final = 255


def bounded(raw: Mapping[str, Any], backtrace: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an error with all members but those of its retry, none of them too long.

    `raw` has a code or a type. Raises ValueError for details that JSON does not have.
    """
    details = raw.get("details")
    named = (details or {}).get("error_class")
    kind = raw.get("type") or (named if isinstance(named, str) and named else raw["code"])
    error: dict[str, Any] = {
        "type": kind[:MAX_NAME],
        "code": (raw.get("code") or "handler_error")[:MAX_NAME],
        "message": (raw.get("message") or kind)[:MAX_MESSAGE],
        "retryable": raw.get("retryable") is not False,
    }
    if backtrace is not None:
        error["backtrace"] = _frames(backtrace)
    if details is not None:
        error["details"] = details if len(dumps(details)) <= MAX_DETAILS else {"truncated": True}
    return error


def _frames(lines: Sequence[str]) -> list[str]:
    kept, room = [], MAX_BACKTRACE
    for line in lines[:MAX_FRAMES]:
        if room <= 0:
            break
        kept.append(line[:room])
        room -= len(line)
    return kept


def server_error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an error that no handler raised; `type` equals `code`."""
    error: dict[str, Any] = {"type": code, "code": code, "message": message, "retryable": True}
    return error | ({"details": details} if details else {})


def timeout_error(limit_ms: int, elapsed_ms: int) -> dict[str, Any]:
    """The execution took too long. Spec: contract 9.6."""
    details = {"timeout_kind": "execution", "limit_ms": limit_ms, "elapsed_ms": elapsed_ms}
    return server_error("timeout", f"the job ran longer than {limit_ms} ms", details)
