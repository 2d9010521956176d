"""The member `checkpoint` of a job, without its state. Spec: contract 34.1."""

from typing import Any

from jobs.domain.job import Job
from jobs.domain.wire.times import format_time
from jobs.extensions import checkpoints


def checkpoint_member(job: Job) -> dict[str, Any]:
    """Return the member for a job with a checkpoint; no statement for any other job."""
    facts = checkpoints.checkpoint_of(job)
    if facts is None:
        return {}
    return {
        "checkpoint": {
            "sequence": facts.sequence,
            "created_at": format_time(facts.created_at),
            "bytes": facts.bytes,
        }
    }
