"""Times of the Python API: `datetime`, `timedelta` or a number of seconds.

A span is a `timedelta` or a number of seconds. A moment is an aware `datetime`, or a span from now.
Text is sent as it is: the server reads RFC 3339 times and ISO 8601 durations.
"""

from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Final, TypeAlias

Span: TypeAlias = timedelta | float  # a number of seconds, `int` included
Moment: TypeAlias = datetime | timedelta | float | str

STAMP_S: Final = 1_000_000_000  # 31 years: a number above it is meant as a Unix timestamp


def milliseconds(value: object, name: str) -> int:
    """Return a span in whole milliseconds, rounded. Raises TypeError, or ValueError below 0."""
    if isinstance(value, timedelta):
        ms = round(value / timedelta(milliseconds=1))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not isfinite(value):
            raise ValueError(f"{name} must be finite, not {value!r}")
        ms = round(value * 1000)
    else:
        raise TypeError(f"{name} must be a timedelta or a number of seconds, not {value!r}")
    if ms < 0:
        raise ValueError(f"{name} must not be negative: {value!r}")
    return ms


def milliseconds_until(at: object, name: str) -> int:
    """Return the time from now to an aware datetime; 0 for the past. Raises TypeError, ValueError.

    The clock is that of this process.
    """
    if not isinstance(at, datetime):
        raise TypeError(f"{name} must be a datetime, not {at!r}")
    return max(0, round((_aware(at, name) - datetime.now(UTC)) / timedelta(milliseconds=1)))


def moment(value: object, name: str) -> str:
    """Return a moment as the server reads it: a time, or `+` and a duration from the enqueue.

    Raises TypeError, or ValueError for a datetime without an offset and for a Unix timestamp.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return _aware(value, name).astimezone(UTC).isoformat()
    if isinstance(value, int | float) and value > STAMP_S:
        raise ValueError(
            f"{name} is in seconds from now: {value!r} looks like a Unix timestamp; use"
            " datetime.fromtimestamp(…, UTC)"
        )
    if not isinstance(value, timedelta | int | float) or isinstance(value, bool):
        raise TypeError(
            f"{name} must be a datetime, a timedelta or a number of seconds from now, not {value!r}"
        )
    return f"+PT{_seconds(milliseconds(value, name))}S"


def duration(value: object, name: str) -> str:
    """Return a span as an ISO 8601 duration in seconds; text is returned as it is."""
    return value if isinstance(value, str) else f"PT{_seconds(milliseconds(value, name))}S"


def _seconds(ms: int) -> str:
    whole, rest = divmod(ms, 1000)
    return f"{whole}.{rest:03}" if rest else str(whole)


def _aware(at: datetime, name: str) -> datetime:
    if at.utcoffset() is None:
        raise ValueError(f"{name} must have a time zone: use datetime.now(UTC) or timezone.now()")
    return at
