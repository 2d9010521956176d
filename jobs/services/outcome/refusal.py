"""Explain why a worker's answer about a job was refused. Spec: contract 2.2, 3.4, 9.3."""

from collections.abc import Mapping

from jobs import queries
from jobs.domain.errors import Conflict, NotFound, OJSError
from jobs.domain.job import Job
from jobs.domain.states import CODES, State, state_of


def refusals(verb: str, holders: Mapping[str, str | None]) -> dict[str, OJSError]:
    """Return the refusal for each job id (with the worker id that was sent)."""
    found = queries.jobs(list(holders)) if holders else {}
    return {
        job_id: _refusal(verb, job_id, worker_id, found.get(job_id))
        for job_id, worker_id in holders.items()
    }


def _refusal(verb: str, job_id: str, worker_id: str | None, job: Job | None) -> OJSError:
    if job is None:
        return NotFound.of("job", job_id)
    details = {
        "job_id": job_id,
        "current_state": state_of(job.state).value,
        "expected_state": State.ACTIVE.value,
    }
    if job.state == CODES[State.ACTIVE] and worker_id is not None:
        details["reason"] = "lease_lost"
        return Conflict(f"job is held by another worker than {worker_id!r}", details=details)
    return Conflict(
        f"job is {details['current_state']}, {verb} needs {State.ACTIVE.value}", details=details
    )
