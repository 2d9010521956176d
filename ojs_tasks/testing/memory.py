"""A server in memory, for tests of projects without the server's apps.

It stores jobs and workflows, runs them by their handlers and middleware, and retries, discards and
cancels them. Unique policies, rate limits and schedules need the server.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ojs_tasks import registry
from ojs_tasks.children import ENDED, FLOW_ENDED
from ojs_tasks.exceptions import (
    Discard,
    JobNotFound,
    ResultTimeout,
    Retry,
    UncommittedJob,
    WorkflowNotFound,
)
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.registry import handled_queues
from ojs_tasks.server import Draft, Reconciled, Snapshot, standing_in, with_codecs
from ojs_tasks.testing.attempts import attempt
from ojs_tasks.testing.memory_flows import Flow, Flows, planned, snapshot
from ojs_tasks.testing.memory_jobs import Conflict, MemoryJob, through_json
from ojs_tasks.testing.records import Enqueued, Run, TooManyJobs, result_of


class Memory:
    """The jobs of a test: a `Server` for producers, and a `Bench` for the test."""

    def __init__(self) -> None:
        """Begin without a job."""
        self._jobs: dict[str, MemoryJob] = {}
        self._flows = Flows(self._store, self._note_flow_end)

    # --- jobs

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep jobs. Raises TypeError for values that are no JSON."""
        made = [MemoryJob.of(draft) for draft in drafts]
        self._jobs |= {job.id: job for job in made}
        return [job.snapshot for job in made]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep jobs as `enqueue` does."""
        return self.enqueue(drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self._job(job_id).snapshot

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self.read(job_id)

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job that has ended.

        Raises JobNotFound, ResultTimeout if the caller only looks, UncommittedJob if it would wait
        without end: no worker runs the job.
        """
        shown = self.read(job_id)
        if not shown.has_ended:
            raise _no_end(f"job {job_id}", shown.state, timeout_s)
        return shown

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job that has ended, as `wait` does."""
        return self.wait(job_id, timeout_s)

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job. Raises JobNotFound, or Refused when it has ended."""
        job = self._job(job_id)
        if job.snapshot.has_ended:
            raise Conflict(
                f"job is {job.state} and cannot be cancelled",
                {"job_id": job_id, "current_state": job.state},
            )
        job.finish("cancelled")
        self._note_end(job)
        return job.snapshot

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return self.cancel(job_id)

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises JobNotFound, or Refused when it has ended."""
        job = self._job(job_id)
        if job.snapshot.has_ended:
            raise Conflict(
                f"job is {job.state} and takes no signal",
                {"job_id": job_id, "current_state": job.state},
            )
        job.signal(name, payload)

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        self.signal(job_id, name, payload)

    # --- workflows

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Keep a workflow and the jobs of its first steps.

        Raises TypeError for values that are no JSON, ValueError for more than three levels.
        """
        flow = planned(through_json(body))
        self._flows.start(flow)
        return self._shown(flow)

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Keep a workflow as `start_workflow` does."""
        return self.start_workflow(body)

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return self._shown(self._flow(workflow_id), with_results=with_results)

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return self.read_workflow(workflow_id, with_results=with_results)

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow that has ended. Raises WorkflowNotFound, and as `wait`."""
        shown = self.read_workflow(workflow_id, with_results=True)
        if not shown.has_ended:
            raise _no_end(f"workflow {workflow_id}", shown.state, timeout_s)
        return shown

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow that has ended, as `wait_workflow` does."""
        return self.wait_workflow(workflow_id, timeout_s)

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises WorkflowNotFound, or Refused when it has ended."""
        flow = self._flow(workflow_id)
        if flow.outer is not None or flow.state != "running":
            reason = "nested" if flow.outer is not None else flow.state
            raise Conflict(
                f"workflow is {reason} and cannot be cancelled",
                {"workflow_id": workflow_id, "current_state": flow.state},
            )
        for job_id in self._flows.cancel(flow, lambda one: not self._is_active(one)):
            self._jobs[job_id].finish("cancelled")
            self._cancel_children(self._jobs[job_id])
        return self._shown(flow)

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""
        return self.cancel_workflow(workflow_id)

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Raise NotImplementedError: no time passes in a test."""
        raise NotImplementedError("a test in memory has no schedules: they need the server's apps")

    # --- the bench

    def enqueued(self) -> list[Enqueued]:
        """Return all jobs, the oldest first."""
        return [job.enqueued for job in self._jobs.values()]

    def make_due(self) -> int:
        """Make scheduled and retryable jobs available; return how many there were."""
        due = [one for one in self._jobs.values() if one.state in {"scheduled", "retryable"}]
        for job in due:
            job.state = "available"
        return len(due)

    def run_available(self, queues: Sequence[str], *, raises: bool, most: int) -> list[Run]:
        """Run available jobs, and return every attempt. Raises TooManyJobs, and as handlers."""
        discover()
        runs: list[Run] = []
        for _ in range(most):
            job = self._next(queues or handled_queues())
            if job is None:
                return runs
            runs.append(self._run(job, raises=raises))
        if job := self._next(queues or handled_queues()):
            raise TooManyJobs(
                f"{most} attempts ran and a job of type {job.type} is still available"
            )
        return runs

    def _run(self, job: MemoryJob, *, raises: bool) -> Run:
        claimed = job.claim()
        outcome = attempt(claimed, job)
        if job.state == "active":  # its handler may have cancelled it
            job.end(claimed, outcome)
            self._note_end(job)
        raised = outcome.raised
        if raises and raised is not None and not isinstance(raised, Retry | Discard):
            raise raised
        result = result_of(job.result)
        return Run(job.id, job.type, claimed.attempt, job.state, result, outcome.error)

    def _next(self, queues: Sequence[str]) -> MemoryJob | None:
        found = [one for one in self._jobs.values() if one.state == "available"]
        found = [one for one in found if one.queue in queues]
        return min(found, key=lambda one: -one.priority, default=None)

    def _store(self, draft: Mapping[str, Any]) -> str:
        job = MemoryJob.of(draft)
        self._jobs[job.id] = job
        return job.id

    def _note_end(self, job: MemoryJob) -> None:
        if job.snapshot.has_ended:
            error = job.errors[-1] if job.errors else None
            self._flows.note_end(job.id, job.state, job.result, error)
            if (parent := self._jobs.get(job.parent or "")) is not None:
                parent.wake(f"{ENDED}{job.id}")
            if job.state == "cancelled":
                self._cancel_children(job)

    def _cancel_children(self, job: MemoryJob) -> None:
        theirs = [one for one in self._jobs.values() if one.parent == job.id]
        for one in theirs:
            if one.ends_with_parent and not one.snapshot.has_ended:
                self.cancel(one.id)
        for flow in self._flows.started_by(job.id):
            self.cancel_workflow(flow.id)

    def _note_flow_end(self, flow: Flow) -> None:
        if (parent := self._jobs.get(flow.parent or "")) is not None:
            parent.wake(f"{FLOW_ENDED}{flow.id}")

    def _job(self, job_id: str) -> MemoryJob:
        if job_id not in self._jobs:
            raise JobNotFound(f"no job {job_id}")
        return self._jobs[job_id]

    def _is_active(self, job_id: str) -> bool:
        return self._jobs[job_id].state == "active"

    def _flow(self, workflow_id: str) -> Flow:
        found = self._flows.find(workflow_id)
        if found is None:
            raise WorkflowNotFound(f"no workflow {workflow_id}")
        return found

    def _shown(self, flow: Flow, *, with_results: bool = False) -> WorkflowSnapshot:
        return snapshot(flow, self._is_active, results=with_results)


def _no_end(what: str, state: str, timeout_s: float | None) -> Exception:
    if timeout_s is not None and timeout_s <= 0:
        return ResultTimeout(f"{what} did not end in time: it was {state}")
    return UncommittedJob(f"{what} is {state}, and no worker runs it here: use run_available()")


def discover() -> None:
    """Import the handlers of all apps, in a process with Django."""
    try:
        from django.apps import apps  # noqa: PLC0415 - optional
    except ImportError:
        return
    if apps.ready:
        registry.discover()


_active: Memory | None = None


def active() -> Memory | None:
    """Return the jobs of the running test in memory; None if it has none."""
    return _active


@contextmanager
def in_memory() -> Iterator[Memory]:
    """Keep the jobs of this process in memory within the context, and send none to a server.

    Inside another one it returns the same jobs.
    """
    global _active  # noqa: PLW0603 - one server per process
    if _active is not None:
        yield _active
        return
    _active = Memory()
    try:
        with standing_in(with_codecs(_active), is_local=False):
            yield _active
    finally:
        _active = None
