"""Record the departure of a worker. Spec: contract 9.7, 20 D-FS-12."""

from jobs.domain.errors import NotFound, WorkerTaken
from jobs.models import Worker
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import owned
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.services.workers.held import held_by, may_see


def leave(worker_id: str, *, tenant: str | None = None) -> int:
    """Mark a worker stopped and return the jobs it holds, with a tenant its jobs alone.

    Returns how many jobs. Raises NotFound, also when the worker is not that tenant's.
    """
    if "\0" in worker_id or not Worker.objects.filter(id=worker_id).exists():
        raise NotFound.of("worker", worker_id)
    if not may_see(worker_id, tenant):
        raise NotFound.of("worker", worker_id)
    try:  # it claims no job from here on
        heartbeat(Report(worker_id, standing=Standing.TERMINATE, tenant=tenant))
    except WorkerTaken:  # another tenant made it anew after its removal, or it took a job of one
        raise NotFound.of("worker", worker_id) from None
    held = held_by(worker_id)
    mine = set(held) if tenant is None else owned(set(held), tenant)
    given = [Nack(one, None, requeue=True, attempt=held[one]) for one in sorted(mine)]
    if given:
        nack(given, by_worker=False)
    return len(given)
