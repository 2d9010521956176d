"""Charge queues whose tenants pay by the run time of their jobs. Spec: contract 20.4 (`cost`)."""

from jobs import caches
from jobs.models import Queue
from jobs.services.lanes import charge
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools


def charge_durations() -> int:
    """Charge ended attempts of queues that cost by duration; returns as `charge.charge` does.

    1. Read which queues cost by duration, if the pools changed. 2. Follow only these. 3. Charge.
    """
    pools = pool_cache.latest()
    queues = _queues(pools)
    if not queues and pools.version in _unused:
        return 0  # most servers: one statement, and nothing to charge
    charged = charge.charge(queues)
    _unused.clear()
    if not queues:
        _unused.add(pools.version)
    return charged


_unused: set[int] = set()  # the configuration version at which no queue was charged
caches.register(_unused.clear)


def _queues(pools: Pools) -> set[str]:
    found = set(pools.shares)
    if pools.tenants is not None and pools.tenants.sharing_policy(None).is_timed:
        found |= set(Queue.objects.values_list("name", flat=True))
    return {queue for queue in found if pools.sharing_policy_of(queue).is_timed}
