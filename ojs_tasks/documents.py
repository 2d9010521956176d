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
        return json.loads(body) if LONG_NUMBER in body.translate(ANY_DIGIT) else orjson.loads(body)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def dumps(value: Any) -> bytes:
    """Serialize. Raises ValueError for a value that JSON does not have."""
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"the value cannot be written as JSON: {problem}") from None
