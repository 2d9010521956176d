"""Progress of running jobs. Spec: contract 3.3 Progress, 29."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs import queries
from jobs.domain import jsonio
from jobs.domain.errors import Conflict
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.models import Progress as Row
from jobs.services.show import show

ACTIVE, COMPLETED = CODES[State.ACTIVE], CODES[State.COMPLETED]


@dataclass(frozen=True, slots=True)
class Progress:
    """What was reported; `fraction` from 0 to 1, clamped, None keeps the number."""

    fraction: float | None = None
    message: str | None = None
    data: Any = None
    updated_at: datetime | None = None


def report(job_id: str, progress: Progress, *, worker_id: str | None = None) -> bool:
    """Store progress of an active job; returns whether it was (only active jobs have any).

    Raises Conflict when another worker holds the job.
    """
    fraction = progress.fraction
    is_stored = queries.progress(
        {
            "id": job_id,
            "worker_id": worker_id,
            "progress": None if fraction is None else min(1.0, max(0.0, fraction)),
            "message": progress.message,
            "data": None if progress.data is None else jsonio.dumps(progress.data).decode(),
        }
    )
    if not is_stored and worker_id is not None and show(job_id).state == ACTIVE:
        details = {"job_id": job_id, "reason": "lease_lost"}
        raise Conflict(f"job is held by another worker than {worker_id!r}", details=details)
    return is_stored


def progress_of(job: Job) -> Progress:
    """Return what was last reported in the job's current attempt; 1 once it completed."""
    row = Row.objects.filter(job_id=job.id, attempt=job.attempt).first()
    if row is None:
        return Progress()
    fraction = 1.0 if job.state == COMPLETED else row.progress
    return Progress(fraction, row.message, row.data, row.updated_at)
