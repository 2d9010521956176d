"""Parse and write JSON, within the limits of PostgreSQL. Spec: contract 1.5.

orjson parses. Where orjson differs from the contract, cheap checks of the bytes find possible cases
first. Only such a case takes the exact and slow way.
"""

import json
from typing import Any, Final

import orjson

from jobs.domain.errors import InvalidPayload

REQUEST_DEPTH: Final = 64  # of documents from clients. Spec: contract 31.3
MAX_DEPTH: Final = 100  # of stored documents, and of those between servers with an outer object
ANY_DIGIT: Final = bytes.maketrans(b"123456789", b"000000000")
LONG_NUMBER: Final = b"0" * 19  # may exceed 64 bits, which orjson turns into a float
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
        value = _exact(body) if LONG_NUMBER in body.translate(ANY_DIGIT) else orjson.loads(body)
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


def _exact(body: bytes) -> Any:
    orjson.loads(body)  # all rules of orjson but the size of integers, at most 309 digits
    return json.loads(body)


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
        return json.dumps(
            value, default=_fragment, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidPayload(f"the value cannot be written as JSON: {problem}") from None


def _fragment(value: object) -> Any:
    if not isinstance(value, orjson.Fragment):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return json.loads(orjson.dumps(value))
