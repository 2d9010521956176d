"""`RemoteServer`: store and read jobs at a server at a distance."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_tasks import tracing
from ojs_tasks.exceptions import UncommittedJob
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.ids import new_id
from ojs_tasks.remote import flows, operations, schedules
from ojs_tasks.remote.client import Client
from ojs_tasks.remote.exchange import Script
from ojs_tasks.remote.on_commit import Deferred, defer, is_deferred, is_in_transaction
from ojs_tasks.remote.settings import RemoteSettings
from ojs_tasks.remote.wire import of_draft
from ojs_tasks.server import Draft, Reconciled, Snapshot

UNCOMMITTED: Final = "uncommitted"  # the state of a job that waits for a commit


class RemoteServer:
    """The methods of `ojs_tasks.server.Server`, over HTTP; for any thread and event loop.

    Each may raise Refused, the server's answer, or ServerUnreachable.
    """

    def __init__(self, settings: Mapping[str, Any] | RemoteSettings) -> None:
        """Prepare; `settings` is the setting `OJS`. Raises NoServer for a wrong value."""
        if not isinstance(settings, RemoteSettings):
            settings = RemoteSettings.of(settings)
        self._settings = settings
        self._client = Client(settings)
        self._offers = operations.Offers()

    def __repr__(self) -> str:
        """Return the address, without credentials."""
        return f"<RemoteServer {self._settings.address}>"

    def close(self) -> None:
        """End the connections of threads; a further call connects again."""
        self._client.close()

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs at once, whatever becomes of the caller's transaction.

        With ENQUEUE_ON_COMMIT in a transaction the jobs are sent after its commit. Until then their
        state is `uncommitted`.
        """
        with tracing.sending(_named(drafts)) as named:
            if self._settings.enqueue_on_commit and is_in_transaction():
                defer(Deferred((one["id"] for one in named), lambda: self._enqueue(named)))
                return [of_draft(draft, UNCOMMITTED) for draft in named]
            return self._enqueue(named)

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs as `enqueue` does."""
        if self._settings.enqueue_on_commit:
            from asgiref.sync import sync_to_async  # noqa: PLC0415 - optional, as Django is

            return await sync_to_async(self.enqueue)(drafts)
        with tracing.sending(_named(drafts)) as named:
            script = operations.enqueue(named, self._settings.retries)
            return await self._client.arun(script)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self._client.run(operations.read(job_id, self._settings.retries))

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return await self._client.arun(operations.read(job_id, self._settings.retries))

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end. None: wait for any time.

        Raises ResultTimeout, JobNotFound, or UncommittedJob for a job that waits for a commit.
        """
        if self._settings.enqueue_on_commit and is_deferred(job_id):
            raise UncommittedJob(f"job {job_id} is sent with the commit of this transaction")
        return self._client.run(self._wait(job_id, timeout_s))

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""
        return await self._client.arun(self._wait(job_id, timeout_s))

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job. Raises JobNotFound, or Refused when it has ended."""
        return self._client.run(operations.cancel(job_id, self._settings.retries))

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return await self._client.arun(operations.cancel(job_id, self._settings.retries))

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises JobNotFound, or Refused when it has ended."""
        self._client.run(operations.signal(job_id, name, payload, self._settings.retries))

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        await self._client.arun(operations.signal(job_id, name, payload, self._settings.retries))

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow at once, and the jobs of its first steps.

        A lost answer raises ServerUnreachable: a second try could start it twice. Raises
        UncommittedJob with ENQUEUE_ON_COMMIT in a transaction, since only the server can give an id
        to a workflow.
        """
        if self._settings.enqueue_on_commit and is_in_transaction():
            raise UncommittedJob(
                "a workflow has no id before the server has it, so it cannot wait for the commit of"
                " this transaction: call transaction.on_commit(flow.enqueue)"
            )
        return self._client.run(flows.start(body, self._settings.retries))

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow as `start_workflow` does."""
        if self._settings.enqueue_on_commit:
            from asgiref.sync import sync_to_async  # noqa: PLC0415 - optional, as Django is

            return await sync_to_async(self.start_workflow)(body)
        return await self._client.arun(flows.start(body, self._settings.retries))

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound.

        `with_results` reads the jobs of steps whose results the answer leaves out. Raises
        JobNotFound if such a job is gone.
        """
        return self._client.run(self._read_workflow(workflow_id, with_results))

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow, as `read_workflow` does."""
        return await self._client.arun(self._read_workflow(workflow_id, with_results))

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow after its end, with results. None: wait for any time.

        Raises ResultTimeout, WorkflowNotFound, or JobNotFound as `read_workflow`.
        """
        return self._client.run(self._wait_workflow(workflow_id, timeout_s))

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow after its end, as `wait_workflow` does."""
        return await self._client.arun(self._wait_workflow(workflow_id, timeout_s))

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises WorkflowNotFound, or Refused when it has ended."""
        return self._client.run(flows.cancel(workflow_id, self._settings.retries))

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""
        return await self._client.arun(flows.cancel(workflow_id, self._settings.retries))

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Make the schedules of a project these, one after the other.

        A paused schedule stays paused. Schedules of other owners stay. Raises Refused if the server
        refuses all, for example for the scopes of the key.
        """
        return self._client.run(schedules.reconcile(owner, bodies, self._settings.retries))

    def _read_workflow(self, workflow_id: str, with_results: bool) -> Script[WorkflowSnapshot]:  # noqa: FBT001
        return flows.read(workflow_id, self._settings.retries, with_results=with_results)

    def _enqueue(self, named: Sequence[Draft]) -> list[Snapshot | None]:
        return self._client.run(operations.enqueue(named, self._settings.retries))

    def _wait(self, job_id: str, timeout_s: float | None) -> Script[Snapshot]:
        return operations.wait(job_id, timeout_s, self._settings.retries, self._offers)

    def _wait_workflow(self, workflow_id: str, timeout_s: float | None) -> Script[WorkflowSnapshot]:
        return flows.wait(workflow_id, timeout_s, self._settings.retries, self._offers)


def _named(drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts with ids, so that a repeated call stores no second job."""
    return [{**draft, "id": draft.get("id") or new_id()} for draft in drafts]
