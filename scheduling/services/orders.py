"""Repair the sharing policy of lanes after a change of the settings' pools. Spec: contract 20.4."""

from jobs import extensions
from jobs.conf import read_anew
from jobs.database import atomic, set_rollback
from jobs.domain.dispatch.claim import SharingPolicy, split_queue
from jobs.models import Lane
from jobs.services.lanes import configuration
from jobs.services.lanes.lanes import unlike
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools
from scheduling.services.pools import share


class _Comparison:
    """Whether this process has compared the weights of all lanes."""

    is_done = False

    @classmethod
    def cache_clear(cls) -> None:
        """Compare all lanes again."""
        cls.is_done = False


def reconcile() -> int:
    """Give all lanes of a queue the sharing policy of its pool; returns for how many queues.

    A change of a pool or of the configuration changes the lanes in the same transaction. Pools of
    the settings change between two starts, and processes may have different settings for a while.
    So each run compares the weights of their queues. The first run compares all other weights as
    well, since these queues may have belonged to such pools before.
    """
    extensions.clear_caches()  # other extensions set weights too; their caches may be stale
    pools = pool_cache.latest()
    rows = Lane.objects.order_by().values_list("queue", "ordered", "timed", "scope").distinct()
    found = {
        (split_queue(name)[1], SharingPolicy(ordered, timed, scope))
        for name, ordered, timed, scope in rows
    }
    wrong = {
        queue for queue, policy in found if policy != pools.sharing_policy_of(queue)
    } | _unlike(pools)
    if wrong:
        with atomic():
            configuration.change()  # invalidates hints and plans of the old kind of virtual times
            if configuration.version() != pools.version + 1:
                set_rollback(True)  # changed meanwhile: check again
                return 0
            share(pools, sorted(wrong))
    return len(wrong)


def _unlike(pools: Pools) -> set[str]:
    if _Comparison.is_done:
        static = [pools.by_name[name] for name in pools.static]
        named = {queue for pool in static if pool.tenants for queue in pool.queues}
        return unlike(named) if named else set()
    _Comparison.is_done = True
    return unlike()


read_anew(_Comparison, setting="OJS_SCHEDULING")
