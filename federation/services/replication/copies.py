"""Read federated jobs of all regions from the copies here. Spec: contract 23.5, 23.6."""

from collections.abc import Sequence

from federation.domain.config import Replication
from federation.domain.order import place
from federation.domain.replica import Adoption, Replica
from federation.models import FederatedJob, FederationKey
from federation.services.registry.regions import registry
from federation.services.replication.capture import replica_of
from jobs.domain.errors import NotFound
from jobs.domain.wire.ids import is_id
from jobs.services.read.show import show_many

MOST = 1_000  # copies of one federation id to read: a region may have several jobs


def copies(federation_id: str, tenant: str | None) -> Sequence[tuple[Replica, FederatedJob | None]]:
    """Return the copies of a federated job, the winner first, of one tenant or of any.

    Each has its row. The row is None for a job of this region without a copy, because replication
    is off or has not read its events yet. Raises NotFound, Unsupported.
    """
    local = registry().configured.local_region
    if not is_id(federation_id):
        raise NotFound.of("federated job", federation_id)
    rows = FederatedJob.objects.filter(federation_id=federation_id)
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    found: dict[tuple[str, str], tuple[Replica, FederatedJob | None]] = {
        (row.origin_region, str(row.job_id)): (as_replica(row), row)
        for row in rows.order_by("-enqueued_at")[:MOST]
    }
    for one in _noted(federation_id, tenant, local):
        found.setdefault((one.origin_region, one.job_id), (one, None))
    if not found:
        raise NotFound.of("federated job", federation_id)
    return sorted(found.values(), key=lambda one: place(one[0]), reverse=True)


def _noted(federation_id: str, tenant: str | None, local: str) -> list[Replica]:
    """Return the jobs here that were stored with this federation id under deduplication."""
    keys = FederationKey.objects.filter(federation_id=federation_id)
    if tenant is not None:
        keys = keys.filter(tenant=tenant)
    jobs = show_many([str(one) for one in keys.values_list("job_id", flat=True)[:MOST]])
    told = [replica_of(job, local, Replication()) for job in jobs]
    return [one for one in told if one is not None]


def as_replica(row: FederatedJob) -> Replica:
    """Return the replica in a row, without its payload."""
    return Replica(
        federation_id=str(row.federation_id), origin_region=row.origin_region,
        job_id=str(row.job_id), tenant=row.tenant, type=row.type, queue=row.queue,
        state=row.state, priority=row.priority, attempt=row.attempt, created_at=row.created_at,
        enqueued_at=row.enqueued_at, completed_at=row.completed_at, revision=row.revision,
        bound_to=row.bound_to,
        adopts=Adoption(row.adopts_region, str(row.adopts_job)) if row.adopts_region else None,
    )  # fmt: skip
