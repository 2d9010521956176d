"""Repairs how queues are shared where the settings' pools have changed. Spec: contract 20.4."""

from django.db import transaction

from jobs import extensions
from jobs.conf import read_anew
from jobs.domain.claim import Way, split_queue
from jobs.models import Lane
from jobs.services.lanes import terms
from jobs.services.lanes.lanes import unlike
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools
from scheduling.services.pools import share


class _Memory:
    """Whether this process has compared the weights of all lanes."""

    has_compared = False

    @classmethod
    def cache_clear(cls) -> None:
        """Begin anew."""
        cls.has_compared = False


def reconcile() -> int:
    """Let all lanes of a queue be shared in the way of its pool; returns of how many queues.

    Whoever changes a pool or the configuration changes the lanes with it. Pools of the settings
    change between two starts, and for a while processes may go by different ones. So the weights of
    their queues are compared each time, those of all others once: they may have been of such pools.
    """
    extensions.forget()  # others weigh, too, and what they remember may be old
    pools = pool_cache.latest()
    rows = Lane.objects.order_by().values_list("queue", "ordered", "timed", "scope").distinct()
    found = {
        (split_queue(name)[1], Way(ordered, timed, scope)) for name, ordered, timed, scope in rows
    }
    wrong = {queue for queue, way in found if way != pools.way_of(queue)} | _unlike(pools)
    if wrong:
        with transaction.atomic():
            terms.change()  # hints and plans of the other kind of virtual times end here
            if terms.version() != pools.version + 1:
                transaction.set_rollback(True)  # something has changed meanwhile: look again
                return 0
            share(pools, sorted(wrong))
    return len(wrong)


def _unlike(pools: Pools) -> set[str]:
    if _Memory.has_compared:
        static = [pools.by_name[name] for name in pools.static]
        named = {queue for pool in static if pool.tenants for queue in pool.queues}
        return unlike(named) if named else set()
    _Memory.has_compared = True
    return unlike()


read_anew(_Memory, setting="OJS_SCHEDULING")
