"""Read the leases of a worker, and decide which caller may see it. Spec: MT 5, D-MT-8."""

import orjson

from jobs.domain.dispatch.claim import split_queue
from jobs.models import Lease, Worker
from jobs.services.read.show import kinds_of, owned


def held_by(worker_id: str) -> dict[str, int]:
    """Return the attempts that a worker claimed and has not answered, by job id."""
    rows = Lease.objects.filter(worker_id=worker_id).values_list("id", "attempt")
    return {str(job_id): attempt for job_id, attempt in rows}


def queues_of_worker(worker_id: str) -> set[str]:
    """Return the queues that a worker declared, and the queues of the jobs it holds."""
    declared = Worker.objects.filter(id=worker_id).values_list("queues", flat=True).first()
    listed = orjson.loads(declared) if isinstance(declared, str) else declared
    named = {split_queue(one)[1] for one in listed or () if isinstance(one, str)}
    return named | {kind.queue for kind in kinds_of(held_by(worker_id)).values()}


def may_see(worker_id: str, tenant: str | None) -> bool:
    """Return whether a caller bound to a tenant may see a worker: it is the tenant's.

    A worker that no tenant's caller named first is the tenant's while all its jobs are.
    """
    if tenant is None:
        return True
    owners = Worker.objects.filter(id=worker_id).values_list("tenant", flat=True)
    owner = owners.first()
    if owner is not None:
        return owner == tenant
    held = set(held_by(worker_id))
    return bool(held) and owned(held, tenant) == held
