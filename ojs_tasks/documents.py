"""JSON with exact integers of any size."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

ANY_DIGIT: Final = bytes.maketrans(b"123456789", b"000000000")
DEEPEST: Final = 100  # levels that are looked at
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
        place = next(_strange(value, "", DEEPEST), None) or str(problem)
        raise ValueError(f"the value cannot be written as JSON: {place}") from None


def _strange(value: Any, place: str, levels: int) -> Iterator[str]:
    """Yield where a document has objects without a JSON form, with the class of each."""
    if isinstance(value, Mapping) and levels:
        for name, inner in value.items():
            # the keyword arguments of a call, which its caller did not put there
            at = f"{name}" if place.endswith("__kwargs__") or not place else f"{place}.{name}"
            yield from _strange(inner, at, levels - 1)
    elif isinstance(value, list | tuple) and levels:
        for number, inner in enumerate(value):
            yield from _strange(inner, f"{place}[{number}]", levels - 1)
    elif not isinstance(value, int) and not _has_form(value):
        what = f"{place or 'it'} is of the class {type(value).__name__}"
        yield f"{what}: pass its id" if hasattr(value, "pk") else what


def _fragment(value: object) -> Any:
    """Return what orjson writes for a fragment, and for times and UUIDs beside a long integer."""
    return json.loads(orjson.dumps(value))


def _has_form(value: object) -> bool:
    try:
        return bool(orjson.dumps(value))
    except TypeError:
        return False
