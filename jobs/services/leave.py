"""A worker says that it has ended. Spec: contract 9.7, 20 D-FS-12."""

from jobs.domain.errors import NotFound
from jobs.models import Worker
from jobs.services.heartbeat import Report, Standing, heartbeat
from jobs.services.held import held_by
from jobs.services.nack import Nack, nack
from jobs.services.show import owned


def leave(worker_id: str, *, tenant: str | None = None) -> int:
    """Mark a worker stopped and give back the jobs it holds, those of a tenant if given.

    Returns how many jobs. Raises NotFound, also where it runs jobs of other tenants than that one.
    """
    if "\0" in worker_id or not Worker.objects.filter(id=worker_id).exists():
        raise NotFound.of("worker", worker_id)
    if not may_know(worker_id, tenant):
        raise NotFound.of("worker", worker_id)
    heartbeat(Report(worker_id, standing=Standing.TERMINATE))  # it claims nothing from here on
    held = held_by(worker_id)
    mine = set(held) if tenant is None else owned(set(held), tenant)
    given = [Nack(one, None, requeue=True, attempt=held[one]) for one in sorted(mine)]
    if given:
        nack(given)
    return len(given)


def may_know(worker_id: str, tenant: str | None) -> bool:
    """Tell whether whoever is bound to a tenant may know a worker: it runs no job of another."""
    if tenant is None:
        return True
    held = set(held_by(worker_id))
    return owned(held, tenant) == held
