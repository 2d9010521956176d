"""One typed function per statement in `sql/`: what the pages read beyond the core's services.

Jobs and workers come from the core's services.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class MinuteCounts(NamedTuple):
    """What happened in one minute."""

    minute: datetime
    enqueued: int
    completed: int
    failed: int


def hour(queue: str | None = None) -> list[MinuteCounts]:
    """Read the last hour, oldest minute first; minutes in which nothing happened are absent."""
    return [MinuteCounts(*row) for row in _rows("hour", {"queue": queue})]


class Failure(NamedTuple):
    """One failed attempt."""

    job_id: str
    at: datetime
    queue: str
    type: str
    attempt: int
    error_type: str | None
    message: str | None


def failures(size: int) -> list[Failure]:
    """Read the latest failed attempts, latest first."""
    return [Failure(*row) for row in _rows("failures", {"size": size})]


def starts(queues: Sequence[str], minutes: int) -> dict[str, int]:
    """Count the jobs of queues that were handed out lately, by queue; idle ones are absent."""
    return dict(_rows("starts", {"queues": list(queues), "minutes": minutes}))
