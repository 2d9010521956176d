"""Parse and write JSON, within the limits of PostgreSQL. Spec: contract 1.5.

orjson parses. Where orjson differs from the contract, cheap checks of the bytes find possible cases
first. Only such a case takes the exact and slow way.
"""

from typing import Any, Final

import orjson

from jobs.domain.errors import InvalidPayload
from ojs_tasks.documents import ANY_DIGIT, LONG_NUMBER, exactly, slowly

REQUEST_DEPTH: Final = 64  # of documents from clients. Spec: contract 31.3
MAX_DEPTH: Final = 100  # of stored documents, and of those between servers with an outer object
NUL: Final = b"\\u0000"


def loads_object(body: bytes, deepest: int = MAX_DEPTH) -> dict[str, Any]:
    """Read the one JSON object of a request. Raises InvalidPayload."""
    value = loads(body, deepest)
    if not isinstance(value, dict):
        raise InvalidPayload("the body must be a JSON object")
    return value


def loads(body: bytes, deepest: int = MAX_DEPTH) -> Any:
    """Read any JSON document of at most `deepest` levels. Raises InvalidPayload."""
    if not body.strip():
        raise InvalidPayload("the body is empty")
    try:
        value = exactly(body) if LONG_NUMBER in body.translate(ANY_DIGIT) else orjson.loads(body)
    except (ValueError, RecursionError) as problem:
        raise InvalidPayload(f"the body is not valid JSON: {problem}") from None
    if body.count(b"[") + body.count(b"{") > deepest:
        _check_depth(value, deepest)
    if NUL in body and _has_nul(value):
        raise InvalidPayload("text must not contain the character U+0000")
    return value


def _check_depth(value: Any, deepest: int) -> None:
    level = [value]
    for _ in range(deepest):  # level by level: recursion would need an equally deep stack
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return
    raise InvalidPayload(f"the body is nested deeper than {deepest} levels")


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in key or _has_nul(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))


def dumps(value: Any) -> bytes:
    """Serialize; integers of any size, orjson.Fragment anywhere. Raises InvalidPayload."""
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        return slowly(value)
    except ValueError as problem:
        raise InvalidPayload(str(problem)) from None
