"""Carry the checkpoints of federated jobs to other regions. Spec: contract 23.6, 34.1."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from durable.models import Checkpoint
from durable.services.checkpoints import Save, save
from jobs.domain.job import Job
from jobs.domain.wire import jsonio

MEMBER: Final = "checkpoint"  # of the envelope of a copy; a PUSH drops it


def portable(jobs: Sequence[Job]) -> Mapping[str, Mapping[str, Any]]:
    """Return the state of each job that no other extension follows."""
    rows = Checkpoint.objects.filter(job_id__in=[job.id for job in jobs], is_alone=True)
    return {
        str(job_id): {MEMBER: jsonio.loads(state.encode())}
        for job_id, state in rows.values_list("job_id", "state")
    }


def arrived(job_id: str, members: Mapping[str, Any]) -> None:
    """Store the state with which a job comes from another region."""
    if MEMBER in members:
        save(Save(job_id, jsonio.dumps(members[MEMBER]).decode()), may_seed=True)
