"""`CodedServer`: a server whose jobs are encoded before they reach it, and decoded when read.

A value that this process cannot decode stays encoded in a snapshot, so that states can be read
without a key. `wait` raises instead: its caller wants the result.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ojs_tasks.codecs.coding import Coding
from ojs_tasks.codecs.errors import CodecFailed, CodecKeyUnknown
from ojs_tasks.codecs.states import coded_signal
from ojs_tasks.flows import StepSnapshot, WorkflowSnapshot
from ojs_tasks.server import Draft, Reconciled, Server, Snapshot


class CodedServer:
    """The methods of `ojs_tasks.server.Server`, which they pass on to another one."""

    def __init__(self, inner: Server, coding: Coding) -> None:
        """Take the server that stores the jobs."""
        self._inner = inner
        self._coding = coding

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs. Raises CodecKeyUnknown too."""
        return self._answers(self._inner.enqueue(self._drafts(drafts)), drafts)

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs as `enqueue` does."""
        return self._answers(await self._inner.aenqueue(self._drafts(drafts)), drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self._shown(self._inner.read(job_id))

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self._shown(await self._inner.aread(job_id))

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end. Raises CodecFailed and CodecKeyUnknown too."""
        return self._decoded(self._inner.wait(job_id, timeout_s))

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""
        return self._decoded(await self._inner.await_end(job_id, timeout_s))

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job. Raises as the server."""
        return self._shown(self._inner.cancel(job_id))

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return self._shown(await self._inner.acancel(job_id))

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises CodecKeyUnknown too."""
        self._inner.signal(job_id, name, coded_signal(self._coding, payload))

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        await self._inner.asignal(job_id, name, coded_signal(self._coding, payload))

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow. Raises CodecKeyUnknown too."""
        return self._inner.start_workflow(self._coding.workflow(body))

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow as `start_workflow` does."""
        return await self._inner.astart_workflow(self._coding.workflow(body))

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return self._flow(self._inner.read_workflow(workflow_id, with_results=with_results))

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return self._flow(await self._inner.aread_workflow(workflow_id, with_results=with_results))

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow after its end. Raises CodecFailed and CodecKeyUnknown too."""
        return self._flow(self._inner.wait_workflow(workflow_id, timeout_s))

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow after its end, as `wait_workflow` does."""
        return self._flow(await self._inner.await_workflow_end(workflow_id, timeout_s))

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises as the server."""
        return self._inner.cancel_workflow(workflow_id)

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""
        return await self._inner.acancel_workflow(workflow_id)

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Make the schedules of a project these. Raises ValueError without a key for digests."""
        coded = [self._coding.schedule(body) for body in bodies]
        return self._inner.reconcile_schedules(owner, coded)

    def _drafts(self, drafts: Sequence[Draft]) -> list[Draft]:
        return [self._coding.draft(draft) for draft in drafts]

    def _answers(
        self, shown: Sequence[Snapshot | None], drafts: Sequence[Draft]
    ) -> list[Snapshot | None]:
        return [
            None if one is None else replace(self._shown(one), args=list(draft["args"]))
            for one, draft in zip(shown, drafts, strict=True)
        ]

    def _shown(self, shown: Snapshot) -> Snapshot:
        try:
            return self._decoded(shown)
        except (CodecFailed, CodecKeyUnknown):
            return shown

    def _decoded(self, shown: Snapshot) -> Snapshot:
        return replace(
            shown,
            args=self._coding.args(shown.args, shown.meta, shown.type),
            result=self._coding.decoded_result(shown.result),
        )

    def _flow(self, shown: WorkflowSnapshot) -> WorkflowSnapshot:
        return replace(
            shown, steps=self._steps(shown.steps), callbacks=self._steps(shown.callbacks)
        )

    def _steps(self, steps: Sequence[StepSnapshot]) -> list[StepSnapshot]:
        return [
            replace(step, result=self._value(step.result), steps=self._steps(step.steps))
            for step in steps
        ]

    def _value(self, result: Any) -> Any:
        return self._coding.decoded_result(result)
