"""Events for a federated job that two regions had, with the outcome of the job here."""

from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.services.record.emit import NewEvent


def conflict(job: Job, federation_id: str, region: str, other: str, outcome: str) -> NewEvent:
    """Return the event of a job here that job `other` of a region replaces."""
    return NewEvent(
        Kind.FEDERATION_CONFLICT,
        job_id=job.id,
        queue=job.queue,
        type=job.type,
        tenant=job.tenant,
        data={
            "federation_id": federation_id,
            "region": region,
            "job_id": other,
            "winner_region": region,
            "winner_job_id": other,
            "outcome": outcome,
        },
    )
