"""The part of the workflow in the explanation of a waiting job."""

from jobs.domain.dispatch.gates import Gate, GateState
from jobs.domain.job import Job
from workflows import queries
from workflows.domain.kinds import FLOW_NAMES, FlowState

NAMED = 5  # steps before it that the message names


def explain(job: Job) -> list[Gate]:
    """Return the gate of a member: a step gets its job after the steps before it completed.

    Returns no gate for jobs of no workflow. One statement.
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
    """Return the step of a job, with at most `most` names of the steps before it."""
    return queries.membership(job_id, most)
