"""Turn events into deliveries. Spec: contract 26, WH-3, WH-10, WH-12.

The relay reads the record up to the oldest running transaction, from a stored position. The
transaction that stores the deliveries also moves the position. So a delivery exists exactly if its
event does, even after a crash. An open transaction of another session delays deliveries until it
ends. Retention keeps unread events, up to a bound: jobs/services/record/unread.py.
"""

from collections.abc import Iterable
from typing import Any

from jobs.api.wire.event_codec import encode_event
from jobs.database import atomic
from jobs.domain.record.place import FIRST, Place, read_place
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import new_id
from jobs.services.record.events import EventFilter, StoredEvent, event_name, following, horizon
from webhooks import metrics, queries
from webhooks.conf import conf
from webhooks.domain.interest import Interest
from webhooks.models import Position, Subscription

BATCH = 500
STRIDE = 1_000  # transactions after which the position advances without deliveries, too


def relay() -> int:
    """Read one batch of events and store their deliveries; return the number of events.

    Locks: the position row, which also blocks the first subscription; see subscriptions.py.
    """
    if not Subscription.objects.filter(active=True).exists():  # most servers: lock nothing
        metrics.observe_subscriptions(0)
        return 0
    with atomic():
        position = Position.objects.select_for_update().filter(id=1).first()
        subscribed = list(Subscription.objects.filter(active=True))
        metrics.observe_subscriptions(len(subscribed))
        if position is None or not subscribed:
            return 0
        after = read_place(str(position.place)) or FIRST
        complete = horizon()  # read before the events, so that no event falls in between
        events, has_more = following(EventFilter(), after, limit=BATCH)
        rows = list(_deliveries(events, subscribed))
        if rows:
            queries.deliver(rows, conf().retry_schedule_s[0])
        reached = _reached(after, events, None if has_more else complete)
        if reached != after:
            Position.objects.filter(id=1).update(place=reached.number)
    return len(events)


def unread_from() -> int | None:
    """Return the stamp of the first unread event, None without an active subscription."""
    position = Position.objects.filter(id=1).first()
    if position is None or not Subscription.objects.filter(active=True).exists():
        return None
    return (read_place(str(position.place)) or FIRST).stamp


def _reached(after: Place, events: list[StoredEvent], complete: Place | None) -> Place:
    if events:
        return events[-1].place
    is_far = complete is not None and complete.stamp - after.stamp > STRIDE
    return complete if complete is not None and is_far else after


def _deliveries(
    events: Iterable[StoredEvent], subscribed: list[Subscription]
) -> Iterable[dict[str, Any]]:
    interests = [Interest(one.events, one.queues, one.job_types, one.tenant) for one in subscribed]
    for event in events:
        name, body = event_name(event), None
        for subscription, interest in zip(subscribed, interests, strict=True):
            if event.at < subscription.active_since or not interest.covers(
                name, queue=event.queue, job_type=event.type, tenant=event.tenant
            ):
                continue
            body = body or jsonio.dumps(encode_event(event)).decode()
            yield {
                "id": f"del_{new_id()}",
                "subscription_id": subscription.id,
                "tenant": subscription.tenant,
                "event_id": event.id,
                "event_type": name,
                "body": body,
            }
