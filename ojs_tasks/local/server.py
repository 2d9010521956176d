"""`LocalServer`: store and read jobs in the database of this process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from jobs.domain.envelope import parse_job
from jobs.domain.errors import NotFound
from jobs.domain.request_parser import RequestParser
from jobs.domain.wire import jsonio
from jobs.extensions import checkpoints
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.envelopes import limits
from jobs.services.outcome.cancel import cancel
from ojs_tasks.exceptions import JobNotFound, NoServer
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.installed import has_app
from ojs_tasks.local.reading import read, snapshot
from ojs_tasks.local.waits import JOBS
from ojs_tasks.server import Draft, Reconciled, Snapshot

if TYPE_CHECKING:
    from ojs_tasks.local.workflows import LocalWorkflows

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
        return JOBS.wait(job_id, timeout_s)

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""
        return await JOBS.await_end(job_id, timeout_s)

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

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises JobNotFound, or Conflict when it has ended."""
        try:
            is_sent = checkpoints.signal(job_id, name, jsonio.dumps(payload).decode(), ACTOR)
        except NotFound as problem:
            raise JobNotFound(problem.message) from None
        if not is_sent:
            raise NoServer("signals need the app 'durable' in INSTALLED_APPS")

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        await sync_to_async(self.signal)(job_id, name, payload)

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow and the jobs of its first steps. Raises OJSError."""
        return _workflows().start(body)

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow as `start_workflow` does."""
        return await sync_to_async(self.start_workflow)(body)

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return _workflows().read(workflow_id, with_results=with_results)

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return await sync_to_async(self.read_workflow)(workflow_id, with_results=with_results)

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow after its end. Raises as the protocol says."""
        return _workflows().waits.wait(workflow_id, timeout_s)

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow after its end, as `wait_workflow` does."""
        return await _workflows().waits.await_end(workflow_id, timeout_s)

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises WorkflowNotFound, or Conflict when it has ended."""
        return _workflows().cancel(workflow_id, ACTOR)

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""
        return await sync_to_async(self.cancel_workflow)(workflow_id)

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Make the schedules of a project these, in one transaction."""
        if not has_app("scheduling"):
            if not bodies:
                return Reconciled()
            raise NoServer("schedules need the app 'scheduling' in INSTALLED_APPS")
        from ojs_tasks.local.schedules import reconcile_schedules  # noqa: PLC0415 - models

        return reconcile_schedules(owner, bodies)


def _workflows() -> "LocalWorkflows":
    """Return the part for workflows. Raises NoServer in a project without their app."""
    if not has_app("workflows"):
        raise NoServer("workflows need the app 'workflows' in INSTALLED_APPS")
    from ojs_tasks.local.workflows import LocalWorkflows  # noqa: PLC0415 - imports models

    return LocalWorkflows()
