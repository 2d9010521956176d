"""One typed function per statement in `sql/`: what the pages read beyond the core's services.

Pages of jobs come as ids; the core's own reader turns those into jobs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs to list; None is any. `type` is a LIKE pattern."""

    queue: str | None = None
    tenant: str | None = None
    type: str | None = None
    error_type: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list goes on: after this job, and for ended jobs its end."""

    id: str
    at: datetime | None = None


class Found(NamedTuple):
    """Ids in order, and where to look on when the search stopped at its limit."""

    ids: list[str]
    rest: Place | None


def newest(wanted: Wanted, after: Place | None, *, size: int, looked: int) -> Found:
    """Find jobs in any state, newest id first."""
    return _found(_rows("newest", _params(wanted, after, size, looked)))


def live(state: int, wanted: Wanted, after: Place | None, *, size: int, looked: int) -> Found:
    """Find live jobs in a state, newest id first."""
    return _found(_rows("live", {**_params(wanted, after, size, looked), "state": state}))


def ended(
    kinds: Sequence[int], wanted: Wanted, after: Place | None, *, size: int, looked: int
) -> Found:
    """Find ended jobs of the kinds of `Finished`, latest end first."""
    params = _params(wanted, after, size, looked) | {
        "kinds": list(kinds),
        "at": after.at if after else None,
        "error_type": wanted.error_type,
    }
    return _found(_rows("ended", params))


def _params(wanted: Wanted, after: Place | None, size: int, looked: int) -> dict[str, Any]:
    return {
        "queue": wanted.queue,
        "tenant": wanted.tenant,
        "type": wanted.type,
        "before": after.id if after else None,
        "size": size,
        "looked": looked,
    }


def _found(rows: list[Any]) -> Found:
    ids, rest, *at = rows[0]
    place = Place(rest, at[0] if at else None) if rest else None
    return Found([str(job_id) for job_id in ids], place)


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


class WorkerRow(NamedTuple):
    """One worker and how many jobs it holds; `queues` is JSON text."""

    id: str
    hostname: str | None
    pid: int | None
    queues: str | None
    concurrency: int | None
    pool: str | None
    reported: int
    directive: int
    started_at: datetime
    last_heartbeat_at: datetime | None
    dead_at: datetime | None
    stopped_at: datetime | None
    active: int
    is_silent: bool | None


def workers(silence_ms: int, *, with_ended: bool, size: int) -> list[WorkerRow]:
    """Read workers by name, those that ended last."""
    params = {"silence_ms": silence_ms, "with_ended": with_ended, "size": size}
    return [WorkerRow(*row) for row in _rows("workers", params)]
