"""Job ids are UUIDv7 in lower case. Spec: contract 1.1."""

import re
from datetime import UTC, datetime
from typing import Final

from ojs_tasks.ids import new_id

PATTERN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

__all__ = ["is_id", "new_id", "request_id", "time_of"]


def is_id(text: object) -> bool:
    """Return whether a value has the form of a job id."""
    return isinstance(text, str) and PATTERN.fullmatch(text) is not None


def time_of(job_id: str) -> datetime:
    """Return the time at which an id was made, to the millisecond."""
    return datetime.fromtimestamp(int(job_id[:8] + job_id[9:13], 16) / 1000, UTC)


def request_id() -> str:
    """Return a new id for a request without one."""
    return f"req_{new_id()}"
