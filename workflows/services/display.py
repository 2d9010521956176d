"""How the state of a step is shown. Spec: contract 8.2."""

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
    """Return the state on the wire; of a step that has begun its job decides."""
    if step.state == StepState.STARTED and step.child_id is None and not step.is_active:
        return "pending"
    return NAMES[StepState(step.state)]
