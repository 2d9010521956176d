"""A server in memory, in the place of a real one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ojs_tasks.exceptions import JobNotFound
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.server import Draft, Reconciled, Snapshot


class Memory:
    """Keeps drafts; `ended` are the snapshots that waits return."""

    def __init__(self, **ended: Any) -> None:
        """Begin without a job; every wait ends with these members of a snapshot."""
        self.drafts: list[Draft] = []
        self.calls: list[int] = []  # drafts of each enqueue
        self.waits: list[float | None] = []
        self._ended = ended
        self.flow = WorkflowSnapshot("flow-0", "chain", "", "running")
        self.bodies: list[Draft] = []
        self.owner: str | None = None  # of the reconciled schedules
        self.drops = False

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep drafts."""
        self.calls.append(len(drafts))
        first = len(self.drafts)
        self.drafts.extend(drafts)
        return [None if self.drops else self.read(f"job-{first + n}") for n in range(len(drafts))]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep drafts."""
        return self.enqueue(drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return a job that waits."""
        number = int(job_id.removeprefix("job-"))
        if number >= len(self.drafts):
            raise JobNotFound(job_id)
        draft = self.drafts[number]
        return Snapshot(job_id, draft["type"], draft.get("queue", "default"), "available")

    async def aread(self, job_id: str) -> Snapshot:
        """Return a job that waits."""
        return self.read(job_id)

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return the end at once."""
        self.waits.append(timeout_s)
        return replace(self.read(job_id), **self._ended)

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return the end at once."""
        return self.wait(job_id, timeout_s)

    def cancel(self, job_id: str) -> Snapshot:
        """Return the cancelled job."""
        return replace(self.read(job_id), state="cancelled")

    async def acancel(self, job_id: str) -> Snapshot:
        """Return the cancelled job."""
        return self.cancel(job_id)

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Refuse: no test sends a signal here."""
        raise NotImplementedError

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Refuse as `signal` does."""
        raise NotImplementedError

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Keep the request of a workflow."""
        self.bodies.append(body)
        return self.flow

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Keep the request of a workflow."""
        return self.start_workflow(body)

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the workflow."""
        return self.flow

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the workflow."""
        return self.flow

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return the workflow."""
        self.waits.append(timeout_s)
        return self.flow

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return the workflow."""
        return self.wait_workflow(workflow_id, timeout_s)

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Return the cancelled workflow."""
        return replace(self.flow, state="cancelled")

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Return the cancelled workflow."""
        return self.cancel_workflow(workflow_id)

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Keep schedules."""
        self.owner = owner
        self.bodies = list(bodies)
        return Reconciled()
