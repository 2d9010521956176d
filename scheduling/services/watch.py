"""Emit events for starving queues and overloaded pools: the body of the loop `watch`.

The loop looks from outside, so no claim pays for it. It also sees a queue that no worker fetches
from, and workers that are full and do not fetch. Spec: fair-scheduling 11.1; contract 20.6.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from jobs import caches
from jobs.database import atomic
from jobs.domain.dispatch.claim import NAMESPACE_END
from jobs.domain.record.dispatches import OpenQueue
from jobs.domain.record.events import Kind
from jobs.domain.wire.durations import format_duration
from jobs.services.record import dispatches
from jobs.services.record.emit import NewEvent, emit
from scheduling.domain.pool import DEFAULT
from scheduling.domain.starvation import Wait, Watched, watched
from scheduling.models import Overload, QueueWatch
from scheduling.services import namespaces, pool_cache
from scheduling.services.pool_cache import Pools

FRESH_MS = 1_000  # a queue that was served within this time needs no row
QUIET = timedelta(seconds=10)  # between two events of a pool that stays overloaded

_unwatched: set[int] = set()  # the configuration version without pools at which no row was left
caches.register(_unwatched.clear)


def watch() -> int:
    """Look once; returns the number of events.

    1. Store which queues of pools have jobs to hand out, and delete rows of queues without any.
    2. Emit an event for each queue without a start for longer than the pool's rotation interval.
    3. Do the same for queues of namespaces, some at a time.
    4. Emit an event for each pool with waiting jobs that can run no more, once in QUIET.

    The rows note the events in the same transaction. So each episode has one event, even if the
    process is killed. Locks: one look at a time (advisory, tried).
    """
    pools = pool_cache.latest()
    if not pools.by_name and pools.version in _unwatched:
        return 0  # most servers have no pools
    with atomic():
        if not dispatches.watches_alone():
            return 0
        queues = watched(pools.by_name.values())
        seen = dispatches.open_queues(queues)
        events = [*_starving(queues, seen), *namespaces.starving(queues), *_overloaded(pools, seen)]
        emit(events)
    _unwatched.clear()
    if not pools.by_name:
        _unwatched.add(pools.version)
    return len(events)


def starved(queues: Collection[str]) -> set[str]:
    """Return which of these queues starve: an event was emitted and the episode goes on."""
    rows = QueueWatch.objects.filter(queue__in=queues, told_at__isnull=False)
    noted = {row.queue: Wait(row.since, told_at=row.told_at) for row in rows}
    seen = dispatches.open_queues(noted)
    waits = {queue: replace(wait, last_at=seen[queue].last_at) for queue, wait in noted.items()}
    waits = _with_latest({queue: wait for queue, wait in waits.items() if seen[queue].is_open})
    return {queue for queue, wait in waits.items() if wait.is_reported}


def _starving(queues: Mapping[str, Watched], seen: Mapping[str, OpenQueue]) -> list[NewEvent]:
    def is_late(queue: str, wait: Wait) -> bool:
        return wait.lasts_ms(seen[queue].now) > queues[queue].rotation_ms

    seeming = {queue: wait for queue, wait in _waits(seen).items() if is_late(queue, wait)}
    late = {
        queue: wait
        for queue, wait in _with_latest(seeming).items()
        if is_late(queue, wait) and not wait.is_reported
    }
    if not late:
        return []
    now = next(iter(seen.values())).now
    QueueWatch.objects.filter(queue__in=late).update(told_at=now)
    loads = dispatches.loads(late)
    return [
        NewEvent(
            Kind.QUEUE_STARVED,
            queue=queue,
            data={
                "duration": format_duration(wait.lasts_ms(now)),
                "available_count": loads[queue].available,
                "pool": queues[queue].pool,
            },
        )
        for queue, wait in sorted(late.items())
    ]


def _waits(seen: Mapping[str, OpenQueue]) -> dict[str, Wait]:
    """Return the present waits; store new rows and delete ended rows."""
    plain = QueueWatch.objects.exclude(queue__contains=NAMESPACE_END)
    rows = {row.queue: row for row in plain}
    over = [queue for queue in rows if queue not in seen or not seen[queue].is_open]
    if over:
        QueueWatch.objects.filter(queue__in=over).delete()
    waits = {
        queue: Wait(row.since, seen[queue].last_at, row.told_at)
        for queue, row in rows.items()
        if queue not in over
    }
    new = {
        queue: found.now
        for queue, found in seen.items()
        if queue not in waits and found.is_open and not _is_served(found)
    }
    QueueWatch.objects.bulk_create(QueueWatch(queue=q, since=at) for q, at in sorted(new.items()))
    return waits | {queue: Wait(at, seen[queue].last_at) for queue, at in new.items()}


def _is_served(found: OpenQueue) -> bool:
    since = found.now - timedelta(milliseconds=FRESH_MS)
    return found.last_at is not None and found.last_at >= since


def _with_latest(waits: Mapping[str, Wait]) -> dict[str, Wait]:
    """Add the starts that are not aggregated yet; read only for queues that seem late."""
    latest = dispatches.last_starts(waits)
    return {
        queue: replace(wait, last_at=_later(wait.last_at, latest.get(queue)))
        for queue, wait in waits.items()
    }


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(filter(None, (one, other)), default=None)


def _overloaded(pools: Pools, seen: Mapping[str, OpenQueue]) -> list[NewEvent]:
    busy = {
        pool.name: [queue for queue in pool.queues if not pools.is_closed(queue, pool.name)]
        for pool in pools.by_name.values()
    }
    caps = {
        name: pools.by_name[name].concurrency
        for name, queues in busy.items()
        if any(seen[queue].is_open for queue in queues)
    }
    active = dispatches.full_pools(caps, DEFAULT)
    if not active:
        return []
    now = next(iter(seen.values())).now
    lately = Overload.objects.filter(pool__in=active, told_at__gt=now - QUIET)
    names = sorted(active.keys() - set(lately.values_list("pool", flat=True)))
    Overload.objects.bulk_create(
        [Overload(pool=name, told_at=now) for name in names],
        update_conflicts=True, unique_fields=["pool"], update_fields=["told_at"],
    )  # fmt: skip
    loads = dispatches.loads({queue for name in names for queue in busy[name]}) if names else {}
    return [
        NewEvent(
            Kind.POOL_OVERLOADED,
            data={
                "pool": name,
                "active_jobs": active[name],
                "waiting_jobs": sum(loads[queue].available for queue in busy[name]),
            },
        )
        for name in names
    ]
