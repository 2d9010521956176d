"""Queues whose tenants pay by how long their jobs run. Spec: contract 20.4 (`cost`)."""

from jobs.models import Queue
from jobs.services.lanes import charge
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools


def charge_durations() -> int:
    """Charge what has ended where jobs cost by duration; returns as `charge.charge` does.

    1. read which queues those are, if the pools changed; 2. follow these and no others; 3. charge.
    """
    return charge.charge(_queues(pool_cache.latest()))


def _queues(pools: Pools) -> set[str]:
    found = set(pools.shares)
    if pools.tenants is not None and pools.tenants.way(None).is_timed:
        found |= set(Queue.objects.values_list("name", flat=True))
    return {queue for queue in found if pools.way_of(queue).is_timed}
