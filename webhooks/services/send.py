"""Send deliveries, many at a time, outside of transactions. Spec: contract 26, WH-4 to WH-10.

One loop per deployment claims deliveries, gives them to threads and records the outcomes. The
threads only send requests; only the loop's thread has a database connection. A claim is a lease: if
its process is killed, the delivery is sent again.
"""

import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from time import time

from jobs import VERSION
from jobs.database import atomic
from jobs.domain.record.events import Kind
from jobs.services.record.emit import NewEvent, emit
from webhooks import metrics, queries
from webhooks.conf import conf
from webhooks.domain.signature import sign
from webhooks.domain.verdict import Answer, wait_s
from webhooks.models import Status
from webhooks.queries import Claimed
from webhooks.services.subscriptions import vault

USER_AGENT = f"OJS-Webhook/1.0 (ojs-django/{VERSION})"
GRACE_MS = 30_000  # beyond the timeout, before an attempt counts as lost
KINDS = {
    Status.DELIVERED: Kind.WEBHOOK_DELIVERED,
    Status.FAILED: Kind.WEBHOOK_FAILED,
    Status.DEAD: Kind.WEBHOOK_DEAD,
}

Tried = tuple[Claimed, Answer]


class Sender:
    """The running attempts of this process; a single thread calls `run_once`."""

    def __init__(self) -> None:
        """Start without attempts."""
        self._todo: SimpleQueue[Claimed] = SimpleQueue()
        self._done: SimpleQueue[Tried] = SimpleQueue()
        self._busy: dict[str, str] = {}  # subscription by delivery
        self._threads = 0

    def run_once(self) -> int:
        """Record finished attempts and start due deliveries; return the number of both."""
        tried = self._returned()
        record(tried)
        claimed = claim(conf().concurrency - len(self._busy), list(self._busy.values()))
        for one in claimed:
            self._busy[one.id] = one.subscription_id
            self._todo.put(one)
        while self._threads < min(len(self._busy), conf().concurrency):
            threading.Thread(target=self._send, daemon=True, name="ojs-webhook").start()
            self._threads += 1
        return len(tried) + len(claimed)

    def _returned(self) -> list[Tried]:
        tried: list[Tried] = []
        while True:
            try:
                tried.append(self._done.get_nowait())
            except Empty:
                break
        for claimed, _ in tried:
            self._busy.pop(claimed.id, None)
        return tried

    def _send(self) -> None:
        while True:
            claimed = self._todo.get()
            self._done.put((claimed, attempt(claimed)))


def send_due() -> int:
    """Send due deliveries one after another until none is due; return the number of attempts."""
    number = 0
    while claimed := claim(conf().concurrency):
        record([(one, attempt(one)) for one in claimed])
        number += len(claimed)
    return number


def claim(batch: int, busy: Sequence[str] = ()) -> list[Claimed]:
    """Claim due deliveries; `busy` names the subscription of each running attempt."""
    if batch <= 0:
        return []
    chosen = conf()
    return queries.claim(
        {
            "batch": batch,
            "share": chosen.concurrency_per_subscription,
            "busy": list(busy),
            "timeout_ms": chosen.timeout_ms,
            "grace_ms": GRACE_MS,
        }
    )


def attempt(claimed: Claimed) -> Answer:
    """Make one attempt. Never raises, and needs no database."""
    try:
        secrets = [vault().open(claimed.secret)]
        if claimed.is_rotating and claimed.previous_secret:
            secrets.append(vault().open(claimed.previous_secret))
    except ValueError as problem:
        return Answer(None, 0, error=str(problem), is_final=True)
    headers = headers_of(
        secrets, bytes(claimed.body), claimed.event_type, claimed.id, claimed.subscription_id
    )
    from webhooks.services.post import post  # noqa: PLC0415 - with httpx, which few processes need

    return post(claimed.url, bytes(claimed.body), headers, claimed.timeout_ms / 1000)


def headers_of(
    secrets: Sequence[str], body: bytes, event_type: str, delivery_id: str, subscription_id: str
) -> dict[str, str]:
    """Return the headers of an attempt, signed now."""
    timestamp = str(int(time()))
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-OJS-Event-Type": event_type,
        "X-OJS-Delivery-ID": delivery_id,
        "X-OJS-Subscription-ID": subscription_id,
        "X-OJS-Timestamp": timestamp,
        "X-OJS-Signature": sign(secrets, timestamp, body),
    }


def record(tried: Sequence[Tried]) -> None:
    """Store the outcomes of attempts and emit their events, in one transaction."""
    if not tried:
        return
    schedule = conf().retry_schedule_s
    rows = [
        {
            "id": claimed.id, "subscription_id": claimed.subscription_id,
            "number": claimed.attempts, "took_ms": answer.took_ms, "status_code": answer.status,
            "error": answer.error, "body": answer.body, "is_success": answer.is_success,
            "wait_s": wait_s(answer, claimed.tries, schedule),
        }
        for claimed, answer in tried
    ]  # fmt: skip
    with atomic():
        changed = queries.record(rows, conf().disable_after)
        disabled = {one.subscription_id: one for one in changed if one.is_disabled}
        emit(
            [_event(one, KINDS[Status(one.status)]) for one in changed]
            + [_event(one, Kind.WEBHOOK_DISABLED) for one in disabled.values()]
        )
    for claimed, answer in tried:
        metrics.observe(claimed.event_type, answer.is_success, answer.took_ms, claimed.tries)
    for one in changed:
        if one.status == Status.DEAD:
            metrics.observe_dead(one.event_type)


def _event(one: queries.Recorded, kind: Kind) -> NewEvent:
    facts = {
        "subscription_id": one.subscription_id,
        "delivery_id": one.id,
        "event_id": one.event_id,
        "event_type": one.event_type,
        "attempts": one.attempts,
        "status_code": one.status_code,
        "error": one.error,
    }
    return NewEvent(kind, tenant=one.tenant, data={k: v for k, v in facts.items() if v is not None})
