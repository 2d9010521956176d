"""Repairs how queues are shared where the settings' pools have changed. Spec: contract 20 §4."""

from django.db import transaction

from jobs.domain.claim import Way, split_queue
from jobs.models import Lane
from jobs.services import terms
from scheduling.services import pool_cache
from scheduling.services.pools import share


def reconcile() -> int:
    """Let all lanes of a queue be shared in the way of its pool; returns of how many queues.

    Whoever changes a pool or the configuration changes the lanes with it. Pools of the settings
    change between two starts, and for a while processes may go by different ones.
    """
    pools = pool_cache.latest()
    rows = Lane.objects.order_by().values_list("queue", "ordered", "timed", "scope").distinct()
    found = {
        (split_queue(name)[1], Way(ordered, timed, scope)) for name, ordered, timed, scope in rows
    }
    wrong = {queue for queue, way in found if way != pools.way_of(queue)}
    if wrong:
        with transaction.atomic():
            terms.change()  # hints and plans of the other kind of virtual times end here
            share(pools, sorted(wrong))
    return len(wrong)
