"""Discarded jobs: list, retry by hand, delete. Spec: contract 2.4, 3.6, 10.7, D28."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs import queries
from jobs.domain import jsonio
from jobs.domain.claim import LaneKey
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.retry import RetryPolicy
from jobs.domain.states import CODES, State
from jobs.services import lanes
from jobs.services.show import show, show_many

DISCARDED = CODES[State.DISCARDED]
DEAD = 9  # Finished.kind of a flagged job
MOST = 10_000  # per queue; retention keeps no more in the dead letter. Spec: contract 10.6


@dataclass(frozen=True, slots=True)
class Override:
    """What a manual retry changes; None keeps the job's own."""

    queue: str | None = None
    args: list[Any] | None = None
    meta: Mapping[str, Any] | None = None
    priority: int | None = None
    retry: RetryPolicy | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which discarded jobs to list, ended in [since, before); `is_all` includes unflagged ones."""

    queue: str | None = None
    type: str | None = None
    error_type: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    tenant: str | None = None
    is_all: bool = False


def dead_letters(wanted: DeadLetterFilter, *, limit: int, offset: int) -> tuple[list[Job], int]:
    """List discarded jobs, newest first; returns a page and the total, counted up to MOST."""
    ids, total = queries.dead_letters(
        {
            "queue": wanted.queue,
            "kinds": [DEAD, DISCARDED] if wanted.is_all else [DEAD],
            "since": wanted.since,
            "before": wanted.before,
            "type": wanted.type,
            "error_type": wanted.error_type,
            "tenant": wanted.tenant,
            "most": MOST,
            "offset": offset,
            "limit": limit,
        }
    )
    return show_many(ids), total


def retry(job_id: str, override: Override | None = None) -> Job:
    """Make a discarded job available again, attempts anew, history kept. Raises NotFound."""
    job = _discarded(job_id)
    change = override or Override()
    key = LaneKey(
        change.queue or job.queue,
        job.priority if change.priority is None else change.priority,
        job.tenant,
    )
    lane_id = lanes.resolve([key])[key]
    shown = {"retry": change.retry.to_wire()} if change.retry else None
    is_revived = queries.revive(
        {
            "id": job_id,
            "lane_id": lane_id,
            "priority": key.priority,
            "queue": job.queue,
            "finished_at": job.finished_at,
            "args": _json(change.args),
            "meta": _json(change.meta),
            "attributes": _json(shown),
            "max_attempts": change.retry.max_attempts if change.retry else None,
        }
    )
    if not is_revived:  # someone else was faster
        raise NotFound.of("job", job_id)
    return show(job_id)


def delete(job_id: str) -> None:
    """Remove a discarded job for good. Raises NotFound."""
    _discarded(job_id)
    if not queries.remove(job_id):
        raise NotFound.of("job", job_id)


def _discarded(job_id: str) -> Job:
    job = show(job_id)
    if job.state != DISCARDED:
        raise NotFound.of("job", job_id)
    return job


def _json(value: object) -> str | None:
    return None if value is None else jsonio.dumps(value).decode()
