"""Times of forms in the time zone of the user, which the form names."""

import re
from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from jobs.domain.wire.times import OFFSET, read_form_time

LONGEST: Final = 64  # characters of a name
WITH_OFFSET: Final = re.compile(rf".*{OFFSET}", re.ASCII)


def zone_name(text: str) -> str:
    """Return the IANA name of a time zone; empty, which stands for UTC, for other text."""
    return text if _zone(text) is not None else ""


def read_time_in(text: str, zone: str) -> datetime:
    """Read the time of a form, in `zone` if it has no offset. Raises ValueError."""
    at = read_form_time(text)
    found = None if WITH_OFFSET.fullmatch(text) else _zone(zone)
    if found is None:
        return at
    try:
        return at.replace(tzinfo=found).astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None


def _zone(name: str) -> tzinfo | None:
    if not name or len(name) > LONGEST:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # of unknown names, and of names of folders
        return None
