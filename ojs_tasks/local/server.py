"""`LocalServer`: store and read jobs in the database of this process."""

from collections.abc import Sequence

from asgiref.sync import sync_to_async

from jobs.domain.envelope import parse_job
from jobs.domain.errors import NotFound
from jobs.domain.request_parser import RequestParser
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.envelopes import limits
from jobs.services.outcome.cancel import cancel
from ojs_tasks.exceptions import JobNotFound
from ojs_tasks.local.reading import read, snapshot
from ojs_tasks.local.waits import await_end, wait
from ojs_tasks.server import Draft, Snapshot

ACTOR = "python"  # of cancellations, in the event record


class LocalServer:
    """The methods of `ojs_tasks.server.Server`. Statements join the caller's transaction."""

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs with one statement, all or none. Raises OJSError."""
        if len(drafts) == 1:
            parsed = [parse_job(drafts[0], limits=limits())]
        else:
            parse = RequestParser(limits()).parse
            parsed = [parse(draft) for draft in drafts]
        stored = enqueue(parsed) if parsed else []
        return [None if job is None else snapshot(job) for job in stored]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs in the thread of the ORM's other asynchronous calls."""
        return await sync_to_async(self.enqueue)(drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return read(job_id)

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return await sync_to_async(self.read)(job_id)

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end. Raises ResultTimeout, JobNotFound, or UncommittedJob."""
        return wait(job_id, timeout_s)

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""
        return await await_end(job_id, timeout_s)

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
