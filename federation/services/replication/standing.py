"""The standing of a job of this region against another job of its federation id. ADR 19."""

from collections.abc import Sequence
from typing import Final

from federation.domain.doubts import Standing
from federation.domain.meta import REGION
from federation.models import Doubt
from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.domain.wire import jsonio
from jobs.extensions import checkpoints

ACTOR: Final = "federation"  # of the cancel of jobs that are given up


def standing(job: Job, local: str) -> Standing:
    """Return the facts by which two jobs are ordered."""
    meta = jsonio.loads_object(job.meta.encode() if isinstance(job.meta, str) else job.meta)
    return Standing(
        local,
        job.id,
        job.created_at,
        str(state_of(job.state)),
        is_bound=_is_followed(job) or meta.get(REGION) is not None,
    )


def _is_followed(job: Job) -> bool:
    """Return whether something in this region follows the job, besides its checkpoint."""
    return job.watched and job.id not in checkpoints.portable([job])


def delete_doubts(tenant: str, federation_ids: Sequence[str]) -> None:
    """Remove the doubts of jobs that were given up here, in that transaction.

    The region that keeps the job asks the regions in its own doubts. A region that gave up its job
    must not ask further regions: of three jobs, each would give way to another.
    """
    Doubt.objects.filter(tenant=tenant, federation_id__in=federation_ids).delete()
