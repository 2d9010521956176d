"""End jobs on request. Spec: core CANCEL, contract 2.7, D11, D12."""

from jobs import queries
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.ids import is_id
from jobs.domain.job import Job
from jobs.domain.states import State, state_of

TRIES = 20  # a job may move between two looks; each look is one statement


def cancel(job_id: str, actor: str = "api", reason: str | None = None) -> tuple[Job, State]:
    """Cancel a job in any live state; returns it and the state it left.

    Raises NotFound, or Conflict when it has ended.
    """
    if not is_id(job_id):
        raise NotFound.of("job", job_id)
    for _ in range(TRIES):
        ended = queries.cancel([job_id], actor, reason)
        job = queries.jobs([job_id]).get(job_id)
        if job is None:
            raise NotFound.of("job", job_id)
        if ended:
            return job, state_of(ended[0].previous)
        if job.finished_at is not None:
            current = state_of(job.state).value
            raise Conflict(
                f"job is {current} and cannot be cancelled",
                details={"job_id": job_id, "current_state": current},
            )
    raise Conflict("job keeps moving, try again", details={"job_id": job_id})
