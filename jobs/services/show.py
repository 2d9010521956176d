"""Read one job. Spec: core INFO."""

from jobs import queries
from jobs.domain.errors import NotFound
from jobs.domain.ids import is_id
from jobs.domain.job import Job


def show(job_id: str) -> Job:
    """Return a job with its live state. Raises NotFound."""
    job = queries.jobs([job_id]).get(job_id) if is_id(job_id) else None
    if job is None:
        raise NotFound.of("job", job_id)
    return job
