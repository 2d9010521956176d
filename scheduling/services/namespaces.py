"""Find starving queues of namespaces, where only workers of the tenant take the jobs.

Part of the loop `watch`. There may be thousands of namespaces, so each run continues where the last
run ended. Spec: fair-scheduling 11.1; MT 6.1, 7.3.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from jobs.domain.dispatch.claim import NAMESPACE_END, split_queue
from jobs.domain.record.events import Kind
from jobs.domain.wire.durations import format_duration
from jobs.services.record import dispatches
from jobs.services.record.emit import NewEvent
from scheduling.domain.starvation import Wait, Watched
from scheduling.models import QueueWatch

MOST: Final = 1_000  # queues of namespaces in one run


class _Place:
    """Where this process continues; it leads the loop as long as it lives."""

    after = ""


def starving(queues: Mapping[str, Watched]) -> list[NewEvent]:
    """Check the next queues of namespaces; return the events of queues that starve.

    `queues` are queues of pools; each also defines how long its namespaced queues may wait. Call it
    in the transaction that emits the events, and in one process at a time.
    """
    after = _Place.after
    found = dispatches.namespaces(after, MOST)
    until = found[-1] if len(found) == MOST else None  # none: the end of the list
    _Place.after = until or ""
    waits, now = _waits([one for one in found if split_queue(one)[1] in queues], after, until)
    if now is None:
        return []
    late = {
        name: wait
        for name, wait in waits.items()
        if _is_late(wait, queues[split_queue(name)[1]], now)
    }
    return _events(_still(late, queues, now), queues, now)


def _is_late(wait: Wait, queue: Watched, now: datetime) -> bool:
    return wait.lasts_ms(now) > queue.rotation_ms


def _waits(
    names: Collection[str], after: str, until: str | None
) -> tuple[dict[str, Wait], datetime | None]:
    """Return the waiting queues and the time of the read; store new rows and delete ended ones."""
    stored = QueueWatch.objects.filter(queue__contains=NAMESPACE_END, queue__gt=after)
    if until is not None:
        stored = stored.filter(queue__lte=until)
    rows = {row.queue: row for row in stored}
    seen = dispatches.open_queues(names)
    over = [name for name in rows if name not in seen or not seen[name].is_open]
    if over:
        QueueWatch.objects.filter(queue__in=over).delete()
    open_ = {name: one.now for name, one in seen.items() if one.is_open}
    new = [QueueWatch(queue=name, since=at) for name, at in open_.items() if name not in rows]
    QueueWatch.objects.bulk_create(new)
    waits = {
        name: Wait(rows[name].since, None, rows[name].told_at) if name in rows else Wait(at)
        for name, at in open_.items()
    }
    return waits, next(iter(open_.values()), None)


def _still(
    late: Mapping[str, Wait], queues: Mapping[str, Watched], now: datetime
) -> dict[str, Wait]:
    """Leave out queues of which a job has started meanwhile, and store that start."""
    starts = dispatches.namespace_starts({name: wait.since for name, wait in late.items()})
    begun = [
        QueueWatch(queue=name, since=at)
        for name, at in sorted(starts.items())
        if at > late[name].since
    ]
    QueueWatch.objects.bulk_update(begun, ["since"])
    waits = {name: replace(wait, last_at=starts.get(name)) for name, wait in late.items()}
    return {
        name: wait
        for name, wait in waits.items()
        if _is_late(wait, queues[split_queue(name)[1]], now) and not wait.is_reported
    }


def _events(
    late: Mapping[str, Wait], queues: Mapping[str, Watched], now: datetime
) -> list[NewEvent]:
    QueueWatch.objects.filter(queue__in=late).update(told_at=now)
    available = dispatches.available_in(late)
    return [_event(name, late[name], available[name], queues, now) for name in sorted(late)]


def _event(
    name: str, wait: Wait, available: int, queues: Mapping[str, Watched], now: datetime
) -> NewEvent:
    tenant, queue = split_queue(name)
    return NewEvent(
        Kind.QUEUE_STARVED,
        queue=queue,
        tenant=tenant,
        data={
            "duration": format_duration(wait.lasts_ms(now)),
            "available_count": available,
            "pool": queues[queue].pool,
            "tenant_id": tenant,
        },
    )
