"""What a worker holds by its leases."""

from jobs.models import Lease


def held_by(worker_id: str) -> dict[str, int]:
    """Return the attempts of the jobs that a worker claimed and did not answer for, by job id."""
    rows = Lease.objects.filter(worker_id=worker_id).values_list("id", "attempt")
    return {str(job_id): attempt for job_id, attempt in rows}
