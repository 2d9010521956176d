"""`LocalServer`: store and read jobs in the database of this process."""

import json
from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async

from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.request_parser import RequestParser
from jobs.domain.states import state_of
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.envelopes import limits
from jobs.services.outcome.cancel import cancel
from jobs.services.read.show import show
from ojs_tasks.exceptions import JobNotFound
from ojs_tasks.server import Draft, Snapshot

ACTOR = "python"  # of cancellations, in the event record


class LocalServer:
    """The methods of `ojs_tasks.server.Server`. Statements join the caller's transaction."""

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs with one statement, all or none. Raises OJSError."""
        parse = RequestParser(limits()).parse
        stored = enqueue([parse(draft) for draft in drafts])
        return [None if job is None else snapshot(job) for job in stored]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs in the thread of the ORM's other asynchronous calls."""
        return await sync_to_async(self.enqueue)(drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return snapshot(_shown(job_id))

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return await sync_to_async(self.read)(job_id)

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job. Raises JobNotFound, or Conflict when it has ended."""
        try:
            job, _ = cancel(job_id, ACTOR)
        except NotFound as problem:
            raise JobNotFound(problem.message) from None
        return snapshot(job)

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return await sync_to_async(self.cancel)(job_id)


def _shown(job_id: str) -> Job:
    try:
        return show(job_id)
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
        deduplicated=job.deduplicated,
    )


def _loaded(text: str | bytes | None) -> Any:
    return None if text is None else json.loads(text)  # `json`: integers of any size are exact
