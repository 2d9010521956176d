"""`Eager`: a server that runs jobs and workflows at once, in the thread that enqueues them.

It stores them at another server, that of the test: in its database, or in memory. Then it runs what
is available there, and shows the present state. Everything else it leaves to that server.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from asgiref.sync import sync_to_async

from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.registry import handlers
from ojs_tasks.server import Draft, Reconciled, Server, Snapshot
from ojs_tasks.testing.bench import Bench
from ojs_tasks.testing.records import TooManyJobs
from ojs_tasks.versions import split_type

MOST: Final = 1000  # attempts of one enqueue, beside those of its own jobs
NESTED: Final = 50  # enqueues inside one another

Call = tuple[str, str]  # queue and type of a job


class Eager:
    """The methods of `ojs_tasks.server.Server`."""

    def __init__(self, inner: Server, bench: Bench, *, raises: bool) -> None:
        """Store at `inner`, and run there by `bench`; `raises` is that of `run_now`."""
        self.inner = inner
        self._bench = bench
        self._raises = raises
        self._depth = 0

    # --- what runs at once

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs, run the available ones, and return all with their present state.

        Raises TooManyJobs, and the exceptions of handlers as `run_now` says.
        """
        stored = self.inner.enqueue(drafts)
        found = [one for one in stored if one is not None]
        self._run([(one.queue, one.type) for one in found if one.state == "available"])
        return [
            None
            if shown is None
            else replace(self.inner.read(shown.id), deduplicated=shown.deduplicated)
            for shown in stored
        ]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store and run jobs as `enqueue` does."""
        return await sync_to_async(self.enqueue)(drafts)

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job; the job runs with `run_available`."""
        self.inner.signal(job_id, name, payload)

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        await self.inner.asignal(job_id, name, payload)

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow, run its steps in order, and return it with its present state.

        Raises as `enqueue`.
        """
        shown = self.inner.start_workflow(body)
        self._run(list(_calls(body)))
        return self.inner.read_workflow(shown.id)

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store and run a workflow as `start_workflow` does."""
        return await sync_to_async(self.start_workflow)(body)

    def _run(self, calls: Sequence[Call]) -> None:
        """Run available jobs of the queues of these calls, if this project has their handlers."""
        queues = _queues(calls)
        if not queues:
            return
        if self._depth == NESTED:
            raise TooManyJobs(f"{NESTED} jobs enqueue one another: {calls[0][1]}")
        self._depth += 1
        try:
            most = MOST + len(calls)
            self._bench.run_available(queues, raises=self._raises, most=most)
        finally:
            self._depth -= 1

    # --- what the other server does

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self.inner.read(job_id)

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return await self.inner.aread(job_id)

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end. Raises as the other server."""
        return self.inner.wait(job_id, timeout_s)

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""
        return await self.inner.await_end(job_id, timeout_s)

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job. Raises JobNotFound, or the refusal."""
        return self.inner.cancel(job_id)

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return await self.inner.acancel(job_id)

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return self.inner.read_workflow(workflow_id, with_results=with_results)

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return await self.inner.aread_workflow(workflow_id, with_results=with_results)

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow after its end. Raises as the other server."""
        return self.inner.wait_workflow(workflow_id, timeout_s)

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow after its end, as `wait_workflow` does."""
        return await self.inner.await_workflow_end(workflow_id, timeout_s)

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises WorkflowNotFound, or the refusal."""
        return self.inner.cancel_workflow(workflow_id)

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""
        return await self.inner.acancel_workflow(workflow_id)

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Make the schedules of a project these; they run nothing by themselves."""
        return self.inner.reconcile_schedules(owner, bodies)


def _queues(calls: Iterable[Call]) -> list[str]:
    types = {handler.type for handler in handlers()}
    return sorted(
        {queue for queue, kind in calls if not types.isdisjoint({kind, split_type(kind)[0]})}
    )


def _calls(body: Mapping[str, Any]) -> Iterator[Call]:
    """Yield queue and type of each job of a workflow, also of nested ones and of callbacks."""
    if "args" in body:
        yield str(body.get("queue") or "default"), str(body["type"])
        return
    for step in (
        *body.get("steps", ()),
        *body.get("jobs", ()),
        *body.get("callbacks", {}).values(),
    ):
        yield from _calls(step)
