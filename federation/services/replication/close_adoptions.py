"""Ends waiting jobs of this region that another region has adopted. Contract 23.6.

When a region returns, replication brings it the jobs that were enqueued elsewhere in place of its
own. It cancels its own jobs that still wait. A job that runs or has ended stays, so it may have run
twice: the promise is at least once. If two regions adopted the same job, the later copy stays.
"""

from collections.abc import Mapping, Sequence

from federation import queries
from federation.domain.meta import FEDERATION_ID
from federation.domain.order import milliseconds
from federation.queries import OpenAdoption
from federation.services.replication.conflicts import conflict
from federation.services.replication.replication import ReplicationConfig
from jobs.database import atomic
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.services.outcome.cancel import end
from jobs.services.read.show import show_many
from jobs.services.record.emit import NewEvent, emit

BATCH = 200
ACTOR = "federation"


def close_adoptions(config: ReplicationConfig) -> int:
    """Handle one batch of adoptions by other regions; returns how many there were.

    Locks: the copies, SKIP LOCKED, then the jobs that are cancelled.
    """
    with atomic():
        found = queries.open_adoptions(config.local, BATCH)
        if not found:
            return 0
        replaced = _replaced(found, config.local)
        ended = {row.id for row in end(sorted(replaced), ACTOR, "adopted elsewhere", active=False)}
        emit([_event(one, job, is_ended=job.id in ended) for one, job in replaced.values()])
        queries.close_adoptions(found)
    return len(found)


def _replaced(found: Sequence[OpenAdoption], local: str) -> Mapping[str, tuple[OpenAdoption, Job]]:
    """Return the jobs of this region that adoptions replace, by id."""
    jobs = {job.id: job for job in show_many([one.ours for one in found if one.ours])}
    return {
        job.id: (one, job)
        for one in found
        if one.ours and (job := jobs.get(one.ours)) is not None and _is_behind(one, job, local)
    }


def _is_behind(one: OpenAdoption, job: Job, local: str) -> bool:
    """Return whether an adoption replaces this job: tenant and federation id must be equal."""
    meta = jsonio.loads(job.meta.encode() if isinstance(job.meta, str) else job.meta)
    if job.tenant != one.tenant or meta.get(FEDERATION_ID) != one.federation_id:
        return False
    if one.adopts_region == local:
        return True
    ours = (milliseconds(job.created_at), local, job.id)
    return ours < (milliseconds(one.enqueued_at), one.origin_region, one.job_id)


def _event(one: OpenAdoption, job: Job, *, is_ended: bool) -> NewEvent:
    outcome = "cancelled" if is_ended else "ran"
    return conflict(job, one.federation_id, one.origin_region, one.job_id, outcome)
