"""JSON with exact integers of any size."""

import json
from typing import Any, Final

import orjson

ANY_DIGIT: Final = bytes.maketrans(b"123456789", b"000000000")
LONG_NUMBER: Final = b"0" * 19  # may exceed 64 bits, which orjson turns into a float


def loads(text: str | bytes) -> Any:
    """Read a document. Raises ValueError."""
    body = text.encode() if isinstance(text, str) else text
    try:
        if LONG_NUMBER in body.translate(ANY_DIGIT):
            return exactly(body)
        return orjson.loads(body)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def exactly(body: bytes) -> Any:
    """Read a document with long numbers, slowly. Raises ValueError or RecursionError."""
    orjson.loads(body)  # all rules of orjson but the size of integers, at most 309 digits
    return json.loads(body)


def dumps(value: Any) -> bytes:
    """Serialize; orjson.Fragment anywhere. Raises ValueError for a value without a JSON form."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return slowly(value)


def slowly(value: Any) -> bytes:
    """Serialize a value that orjson refuses, such as one with a long integer. Raises ValueError."""
    try:
        return json.dumps(
            value, default=_fragment, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"the value cannot be written as JSON: {problem}") from None


def _fragment(value: object) -> Any:
    if not isinstance(value, orjson.Fragment):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return json.loads(orjson.dumps(value))
