"""The displayed state of a step. Spec: contract 8.2."""

from jobs.domain.states import State, state_of
from workflows.domain.kinds import StepState
from workflows.domain.rows import StepRow

NAMES = {
    StepState.WAITING: "waiting",
    StepState.DUE: "waiting",
    StepState.STARTED: "active",
    StepState.COMPLETED: "completed",
    StepState.FAILED: "failed",
    StepState.STOPPED: "cancelled",
    StepState.CANCELLED: "cancelled",
}


def step_state(step: StepRow) -> str:
    """Return the state on the wire; the job of a begun step decides it."""
    if step.state == StepState.STARTED and step.child_id is None and not step.is_active:
        return "pending"
    return NAMES[StepState(step.state)]


def own_state(step: StepRow) -> str:
    """Return the state for operators: a begun step has the state of its job."""
    if step.state == StepState.STARTED and step.child_id is None and not step.is_active:
        return (State.AVAILABLE if step.later is None else state_of(step.later)).value
    return NAMES[StepState(step.state)]
