"""Times on the wire: RFC 3339 in, UTC out. Spec: contract 1.4, D8."""

import re
from datetime import UTC, datetime
from typing import Final

from jobs.domain.errors import InvalidRequest

OFFSET: Final = r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
PATTERN: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{{1,30}})?{OFFSET}", re.ASCII
)
# input of a form: browsers leave out the offset, and seconds that are zero
FORM: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{{1,30}})?)?{OFFSET}?)?", re.ASCII
)
RULE: Final = "must be an RFC 3339 time with an offset, such as 2026-05-04T09:12:30Z"


def read_time(text: object) -> datetime:
    """Return an aware UTC time; fractions below a microsecond are cut. Raises ValueError."""
    return _read(text, PATTERN)


def read_form_time(text: object) -> datetime:
    """Return an aware UTC time; without an offset a form means UTC. Raises ValueError."""
    return _read(text, FORM)


def _read(text: object, pattern: re.Pattern[str]) -> datetime:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ValueError(RULE)
    try:
        at = datetime.fromisoformat(text.upper())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(RULE) from None


def parse_time(text: object, field: str = "time") -> datetime:
    """Return an aware UTC time. Raises InvalidRequest naming `field`."""
    try:
        return read_time(text)
    except ValueError as problem:
        raise InvalidRequest.field(field, str(problem), text) from None


def format_time(at: datetime) -> str:
    """Format a UTC time: six digits of fraction, none when it is zero."""
    return at.replace(tzinfo=None).isoformat() + "Z"
