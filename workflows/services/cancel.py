"""Cancel a workflow on request. Spec: contract 8.6, D39."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from jobs.database import atomic
from jobs.domain.errors import Conflict
from jobs.repeat import repeated
from jobs.services.outcome.cancel import cancel_waiting
from workflows import queries
from workflows.domain.kinds import FLOW_NAMES, FlowState
from workflows.domain.limits import RETENTION_MS
from workflows.services.parents import wake_parent
from workflows.services.show import flow

TRIES = 20  # a chain may advance between the read of its jobs and the lock; each try is short


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The outcome of a cancel; numbers of jobs without callbacks."""

    steps_cancelled: int
    steps_already_completed: int
    cancelled_at: datetime


class _Missed(Exception):
    """The workflow changed between the read and the lock: nothing was done, try again."""


def cancel(workflow_id: str, actor: str = "api") -> Cancellation:
    """Cancel the waiting jobs and steps of a workflow; active jobs finish.

    One transaction. Raises NotFound, or Conflict if it has ended or is part of another workflow.
    """
    for _ in range(TRIES):
        found = flow(workflow_id)
        if found.parent_id is not None:
            raise Conflict(
                f"workflow {workflow_id} belongs to {found.root_id}: cancel the outer workflow",
                details={"workflow_id": workflow_id, "root_workflow_id": found.root_id},
            )
        if found.state != FlowState.RUNNING:
            raise _ended(workflow_id, found.state)
        with suppress(_Missed):
            return repeated(lambda: _cancel(workflow_id, actor))
    raise Conflict("the workflow is changing, try again", details={"workflow_id": workflow_id})


def _cancel(workflow_id: str, actor: str) -> Cancellation:
    """Cancel the jobs, then lock the workflow and check whether it has advanced since.

    The order matters: a transaction that ends a job holds the job while it waits for the workflow.
    The job that waits for the workflow is locked last, out of order: after a deadlock the
    transaction is repeated.
    """
    with atomic():
        begun = queries.started(workflow_id)
        cancelled = cancel_waiting(begun, actor, f"workflow {workflow_id} was cancelled")
        queries.hold(workflow_id, exclusive=True)
        done = queries.cancel(workflow_id, begun, cancelled, RETENTION_MS)
        if done is None or done.missed:
            raise _Missed
        wake_parent(done.parent_job_id, workflow_id, done.tenant)
    return Cancellation(done.steps_cancelled, done.steps_completed, done.cancelled_at)


def _ended(workflow_id: str, state: int) -> Conflict:
    name = FLOW_NAMES[FlowState(state)]
    return Conflict(
        f"workflow is {name} and cannot be cancelled",
        details={"workflow_id": workflow_id, "current_state": name},
    )
