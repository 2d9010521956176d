"""What a worker holds by its leases, and who may know the worker. Spec: MT 5, D-MT-8."""

from jobs.models import Lease, Worker
from jobs.services.show import owned


def held_by(worker_id: str) -> dict[str, int]:
    """Return the attempts of the jobs that a worker claimed and did not answer for, by job id."""
    rows = Lease.objects.filter(worker_id=worker_id).values_list("id", "attempt")
    return {str(job_id): attempt for job_id, attempt in rows}


def may_know(worker_id: str, tenant: str | None) -> bool:
    """Tell whether whoever is bound to a tenant may know a worker: it is the tenant's, or nobody's.

    One that is nobody's only while it runs no job of another tenant.
    """
    if tenant is None:
        return True
    owners = Worker.objects.filter(id=worker_id).values_list("tenant", flat=True)
    owner = owners.first()
    if owner is not None:
        return owner == tenant
    held = set(held_by(worker_id))
    return owned(held, tenant) == held
