"""Read jobs from the database of this process, as handles show them."""

import json
from typing import Any

from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.services.read.show import show
from ojs_tasks.exceptions import JobNotFound
from ojs_tasks.server import Snapshot


def read(job_id: str) -> Snapshot:
    """Return the present state of a job. Raises JobNotFound."""
    try:
        return snapshot(show(job_id))
    except NotFound as problem:
        raise JobNotFound(problem.message) from None


def snapshot(job: Job) -> Snapshot:
    """Return a stored job as handles show it."""
    progress = _loaded(job.progress) or {}
    return Snapshot(
        id=job.id,
        type=job.type,
        queue=job.queue,
        state=state_of(job.state).value,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        result=_loaded(job.result),
        error=_loaded(job.error),
        errors=tuple(_loaded(job.errors) or ()),
        progress=progress.get("progress"),
        progress_message=progress.get("progress_message"),
        progress_data=progress.get("progress_data"),
        meta=_loaded(job.meta),
        args=_loaded(job.args),
        priority=job.priority,
        created_at=job.created_at,
        scheduled_at=job.scheduled_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        worker_id=job.worker_id,
        deduplicated=job.deduplicated,
    )


def _loaded(text: str | bytes | None) -> Any:
    return None if text is None else json.loads(text)  # `json`: integers of any size are exact
