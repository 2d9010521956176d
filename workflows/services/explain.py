"""What the workflow of a waiting job has to do with its wait."""

from jobs.domain.gates import Gate, GateState
from jobs.domain.job import Job
from workflows import queries
from workflows.domain.kinds import FLOW_NAMES, FlowState

NAMED = 5  # steps before it that are named


def explain(job: Job) -> list[Gate]:
    """Return the gate of a member: a step gets its job when those before it have completed.

    None for jobs of no workflow; one statement.
    """
    found = queries.membership(job.id, NAMED)
    if found is None:
        return []
    message = f"It is step {found.step} of workflow {found.workflow or found.workflow_id}: "
    if found.number:
        named = ", ".join(found.before)
        more = found.number - len(found.before)
        message += (
            f"it waited for {named}{f' and {more} more' if more > 0 else ''}, which completed."
        )
    else:
        message += "it waits for no other step."
    if found.state != FlowState.RUNNING:
        message += f" The workflow is {FLOW_NAMES[FlowState(found.state)]}; this job still runs."
    numbers = {"steps_before": found.number, "steps_after": found.after}
    return [Gate("workflow", GateState.OPEN, message, name=found.workflow_id, numbers=numbers)]


def place_of(job_id: str, most: int) -> queries.Membership | None:
    """Return the step that a job is of, with at most `most` names of those before it."""
    return queries.membership(job_id, most)
