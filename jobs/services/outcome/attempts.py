"""Read a job's attempts and transitions from the event record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.domain.wire.times import read_time
from jobs.services.record.events import StoredEvent, history

MOST = 1000  # events of one job


def timeline(job_id: str) -> list[StoredEvent]:
    """Return the first MOST events of a job, the earliest first."""
    found, _ = history(job_id, limit=MOST)
    return found


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """One failed attempt; `retry_at` when another was to follow."""

    attempt: int
    error: dict[str, Any]
    started_at: datetime | None
    failed_at: datetime | None
    retry_at: str | None


def failed_attempts(job: Job) -> list[FailedAttempt]:
    """Return the failed attempts in a job's history, the earliest first.

    Their starts come from events, which may be gone.
    """
    errors = orjson.loads(job.errors or "[]")
    started: dict[int, datetime] = {}
    retried: dict[int, str] = {}
    for event in timeline(job.id) if errors else ():
        if event.attempt is None:
            continue
        if event.kind == Kind.STARTED:
            started[event.attempt] = event.at
        elif event.kind == Kind.RETRYING:
            retried[event.attempt] = str(event.data.get("next_retry_at"))
    return [_failed(error, started, retried) for error in errors]


def _failed(
    error: dict[str, Any], started: dict[int, datetime], retried: dict[int, str]
) -> FailedAttempt:
    number = int(error.get("attempt", 0))
    try:
        failed_at = read_time(error.get("occurred_at"))
    except ValueError:
        failed_at = None
    return FailedAttempt(number, error, started.get(number), failed_at, retried.get(number))
