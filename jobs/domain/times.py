"""Times on the wire: RFC 3339 in, UTC out. Spec: contract 1.4, D8."""

import re
from datetime import UTC, datetime
from typing import Final

from jobs.domain.errors import InvalidRequest

PATTERN: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,30})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)
RULE: Final = "must be an RFC 3339 time with an offset, such as 2026-05-04T09:12:30Z"


def read_time(text: object) -> datetime:
    """Return an aware UTC time; fractions below a microsecond are cut. Raises ValueError."""
    if not isinstance(text, str) or not PATTERN.fullmatch(text):
        raise ValueError(RULE)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(RULE) from None


def parse_time(text: object, field: str = "time") -> datetime:
    """Return an aware UTC time. Raises InvalidRequest naming `field`."""
    try:
        return read_time(text)
    except ValueError as problem:
        raise InvalidRequest.field(field, str(problem), text) from None


def format_time(at: datetime) -> str:
    """Spell a UTC time: six digits of fraction, none when it is zero."""
    return at.replace(tzinfo=None).isoformat() + "Z"
