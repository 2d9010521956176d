"""Progress of running jobs. Spec: contract 3.3 Progress, 29."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jobs import queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.errors import Conflict
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.extensions import checkpoints
from jobs.models import Progress as Row
from jobs.services.read.show import show

ACTIVE, COMPLETED = CODES[State.ACTIVE], CODES[State.COMPLETED]


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress report; `fraction` from 0 to 1, clamped, None keeps the number."""

    fraction: float | None = None
    message: str | None = None
    data: Any = None
    updated_at: datetime | None = None
    checkpoint: Any = None  # where a later attempt may continue; None keeps the previous checkpoint
    history: tuple[dict[str, Any], ...] = ()  # the last report of each earlier attempt


def report(job_id: str, progress: Progress, *, worker_id: str | None = None) -> bool:
    """Store progress of an active job; returns whether the job is active.

    Raises Conflict when another worker holds the job. An extension may keep the checkpoint.
    """
    if progress.checkpoint is not None and checkpoints.keeps_checkpoints():
        is_stored = _store_with_checkpoint(job_id, progress, worker_id)
    else:
        is_stored = _store(job_id, progress, worker_id)
    if not is_stored and worker_id is not None and show(job_id).state == ACTIVE:
        details = {"job_id": job_id, "reason": "lease_lost"}
        raise Conflict(f"job is held by another worker than {worker_id!r}", details=details)
    return is_stored


def _store_with_checkpoint(job_id: str, progress: Progress, worker_id: str | None) -> bool:
    with atomic():
        is_stored = _store(job_id, replace(progress, checkpoint=None), worker_id)
        if is_stored:
            state = jsonio.dumps(progress.checkpoint).decode()
            checkpoints.save_reported(job_id, state)
    return is_stored


def _store(job_id: str, progress: Progress, worker_id: str | None) -> bool:
    fraction = progress.fraction
    return queries.progress(
        {
            "id": job_id,
            "worker_id": worker_id,
            "progress": None if fraction is None else min(1.0, max(0.0, fraction)),
            "message": progress.message,
            "data": _json(progress.data),
            "checkpoint": _json(progress.checkpoint),
            "heard_ms": conf().heard_ms,
        }
    )


def progress_of(job: Job) -> Progress:
    """Return the last report of the job's current attempt; 1 once it completed."""
    row = Row.objects.filter(job_id=job.id).first()
    if row is None:
        return Progress()
    history = tuple(row.history or ())
    if row.attempt != job.attempt:
        return Progress(history=(*history, _ended(row)) if row.attempt else history)
    fraction = 1.0 if job.state == COMPLETED else row.progress
    return Progress(fraction, row.message, row.data, row.updated_at, row.checkpoint, history)


def _ended(row: Row) -> dict[str, Any]:
    """Convert the report of an ended attempt as `sql/outcome/progress.sql` does."""
    return {
        "attempt": row.attempt,
        "progress": row.progress,
        "message": row.message,
        "data": row.data,
        "updated_at": format_time(row.updated_at),
    }


def _json(value: Any) -> str | None:
    return None if value is None else jsonio.dumps(value).decode()
