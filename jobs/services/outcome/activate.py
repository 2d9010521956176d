"""Start pending jobs. Spec: contract 2.2, 2.6."""

from jobs import queries
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.job import Job
from jobs.domain.states import State, state_of


def activate(job_id: str) -> Job:
    """Move a pending job to available, or to scheduled; returns it.

    Raises NotFound, or Conflict when it is not pending.
    """
    is_started = queries.activate(job_id) is not None
    job = queries.jobs([job_id]).get(job_id)
    if job is None:
        raise NotFound.of("job", job_id)
    if not is_started:
        current = state_of(job.state).value
        raise Conflict(
            f"job is {current}, activate needs {State.PENDING.value}",
            details={"job_id": job_id, "current_state": current, "expected_state": "pending"},
        )
    return job
