"""`WorkflowHandle`: an enqueued workflow, its progress and its results."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

from ojs_tasks.exceptions import JobCancelled, JobFailed, WorkflowCancelled, WorkflowFailed
from ojs_tasks.flows import StepSnapshot, WorkflowProgress, WorkflowSnapshot
from ojs_tasks.handle import in_seconds, rebuilt
from ojs_tasks.handles import Handle
from ojs_tasks.server import server
from ojs_tasks.times import Span

R = TypeVar("R", covariant=True)  # noqa: PLC0105 - the result, as in handlers.py


class WorkflowHandle(Handle[WorkflowSnapshot], Generic[R]):
    """A workflow on the server; `R` is the type of its result.

    Its properties are those of the latest look at the server: `refresh` looks again.
    """

    __slots__ = ("_ended",)

    def __init__(self, snapshot: WorkflowSnapshot) -> None:
        """Begin with the state that the server showed."""
        super().__init__(snapshot)
        self._ended: WorkflowSnapshot | None = None  # with results

    @property
    def name(self) -> str:
        """The name; empty without one."""
        return self._snapshot.name

    @property
    def progress(self) -> WorkflowProgress:
        """The numbers of jobs: done, failed and total."""
        return self._snapshot.progress

    @property
    def steps(self) -> Sequence[StepSnapshot]:
        """The steps in order, with their states and the ids of their jobs."""
        return self._snapshot.steps

    @property
    def callbacks(self) -> Sequence[StepSnapshot]:
        """The callbacks of a batch."""
        return self._snapshot.callbacks

    def refresh(self) -> "WorkflowHandle[R]":
        """Look at the server, and return this handle. Raises WorkflowNotFound."""
        self._snapshot = server().read_workflow(self.id)
        return self

    async def arefresh(self) -> "WorkflowHandle[R]":
        """Look at the server, as `refresh` does."""
        self._snapshot = await server().aread_workflow(self.id)
        return self

    def results(self) -> list[Any]:
        """Return the results of all steps at present, as later steps receive them.

        None for a step that has no result yet, or failed; a list for a nested workflow. Raises
        WorkflowNotFound.
        """
        if self._ended is None:
            self._snapshot = server().read_workflow(self.id, with_results=True)
        return self._results()

    async def aresults(self) -> list[Any]:
        """Return the results of all steps, as `results` does."""
        if self._ended is None:
            self._snapshot = await server().aread_workflow(self.id, with_results=True)
        return self._results()

    def result(self, timeout: Span | None = None) -> R:
        """Wait for the end of the workflow, and return its result.

        That is the result of a chain's last step, otherwise the list of all results. `timeout` is a
        timedelta or seconds; 0 only looks, None waits for any time. Raises ResultTimeout,
        WorkflowFailed, WorkflowCancelled, or UncommittedJob in the transaction that enqueued it.
        """
        if self._ended is None:
            self._ended = server().wait_workflow(self.id, in_seconds(timeout))
        return self._outcome(self._ended)

    async def aresult(self, timeout: Span | None = None) -> R:
        """Wait for the end of the workflow, as `result` does, without blocking the event loop."""
        if self._ended is None:
            self._ended = await server().await_workflow_end(self.id, in_seconds(timeout))
        return self._outcome(self._ended)

    def cancel(self) -> "WorkflowHandle[R]":
        """Cancel the waiting jobs and steps, and return this handle; active jobs finish.

        Raises the server's error if the workflow has ended.
        """
        self._snapshot = server().cancel_workflow(self.id)
        return self

    async def acancel(self) -> "WorkflowHandle[R]":
        """Cancel the workflow, as `cancel` does."""
        self._snapshot = await server().acancel_workflow(self.id)
        return self

    def _results(self) -> list[Any]:
        shown = self._ended or self._snapshot
        return [step.result for step in shown.steps]

    def _outcome(self, shown: WorkflowSnapshot) -> R:
        self._snapshot = shown
        if shown.state == "completed":
            return cast(R, shown.value)
        raise _failure(shown)


def outcome_of(shown: WorkflowSnapshot) -> Any:
    """Return the result of an ended workflow that was read with results. Raises WorkflowFailed."""
    return WorkflowHandle[Any](shown)._outcome(shown)


def _failure(shown: WorkflowSnapshot) -> WorkflowFailed:
    kind = WorkflowCancelled if shown.state == "cancelled" else WorkflowFailed
    found = shown.failed_step
    if found is None:
        return kind(shown.id, shown.state)
    path, step = found
    failure = kind(shown.id, shown.state, path, step.type, step.error)
    if step.job_id is not None:
        is_cancelled = step.state == "cancelled"
        cause = JobCancelled if is_cancelled else JobFailed
        failed = cause(step.job_id, "cancelled" if is_cancelled else "discarded", step.error)
        failed.__cause__ = rebuilt(failed)
        failure.__cause__ = failed
    return failure


def get_workflow(workflow_id: str) -> WorkflowHandle[Any]:
    """Return the handle of a workflow by its id. Raises WorkflowNotFound."""
    return WorkflowHandle(server().read_workflow(workflow_id))


async def aget_workflow(workflow_id: str) -> WorkflowHandle[Any]:
    """Return the handle of a workflow by its id. Raises WorkflowNotFound."""
    return WorkflowHandle(await server().aread_workflow(workflow_id))
