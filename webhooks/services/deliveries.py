"""Show deliveries, send them again, and test subscriptions. Spec: contract 26.1."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from jobs import VERSION
from jobs.database import atomic
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import new_id
from jobs.domain.wire.times import format_time
from webhooks import queries
from webhooks.conf import conf
from webhooks.domain.verdict import Answer
from webhooks.models import Attempt, Delivery, Status, Subscription
from webhooks.services.send import headers_of
from webhooks.services.subscriptions import vault

FORGET = 1_000
TEST_TIMEOUT_MS = 10_000  # a user waits for the answer
SOURCE = "ojs://ojs-django/webhooks"


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Conditions that must all hold; None: any."""

    tenant: str | None = None
    subscription_id: str | None = None
    status: str | None = None
    event_type: str | None = None


def deliveries(wanted: DeliveryFilter, *, limit: int, offset: int) -> tuple[list[Delivery], bool]:
    """List deliveries, newest first, and return whether there are more."""
    found = _visible(wanted.tenant).defer("body").order_by("-created_at", "-id")
    for name in ("subscription_id", "status", "event_type"):
        if (value := getattr(wanted, name)) is not None:
            found = found.filter(**{name: value})
    rows = list(found[offset : offset + limit + 1])
    return rows[:limit], len(rows) > limit


def delivery(delivery_id: str, tenant: str | None = None) -> tuple[Delivery, list[Attempt]]:
    """Read a delivery and its attempts. Raises NotFound."""
    found = _visible(tenant).filter(id=delivery_id).first()
    if found is None:
        raise NotFound.of("delivery", delivery_id)
    return found, list(Attempt.objects.filter(delivery_id=delivery_id).order_by("number"))


def _visible(tenant: str | None) -> QuerySet[Delivery]:
    found = Delivery.objects.all()
    return found if tenant is None else found.filter(tenant=tenant)


def retry(delivery_id: str, tenant: str | None = None) -> Delivery:
    """Send a delivery again, with a new schedule.

    Raises NotFound, and Conflict if it is pending or its subscription was deleted.
    """
    with atomic():
        found = _visible(tenant).select_for_update().filter(id=delivery_id).first()
        if found is None:
            raise NotFound.of("delivery", delivery_id)
        if found.status == Status.PENDING:
            raise Conflict(f"delivery {delivery_id} is under way already")
        if not Subscription.objects.filter(id=found.subscription_id).exists():
            raise Conflict(f"the subscription of delivery {delivery_id} was deleted")
        Delivery.objects.filter(id=delivery_id).update(
            status=Status.PENDING, tries=0, next_attempt_at=Now(), ended_at=None, delivered_at=None
        )
    return delivery(delivery_id)[0]


def send_test(subscription: Subscription) -> Answer:
    """Send `webhook.test` once, now, without storing it."""
    now = format_time(timezone.now())
    event = {
        "specversion": "1.0",
        "id": f"evt_{new_id()}",
        "type": "webhook.test",
        "event": "webhook.test",
        "source": SOURCE,
        "subject": subscription.id,
        "time": now,
        "timestamp": now,
        "datacontenttype": "application/json",
        "data": {"subscription_id": subscription.id, "version": VERSION},
    }
    body = jsonio.dumps(event)
    try:
        secrets = [vault().open(bytes(subscription.secret))]
    except ValueError as problem:
        return Answer(None, 0, error=str(problem), is_final=True)
    headers = headers_of(secrets, body, "webhook.test", f"del_{new_id()}", subscription.id)
    timeout_ms = min(subscription.timeout_ms or conf().timeout_ms, TEST_TIMEOUT_MS)
    from webhooks.services.post import post  # noqa: PLC0415 - with httpx, which few processes need

    return post(subscription.url, body, headers, timeout_ms / 1000)


def delete_expired_deliveries() -> int:
    """Remove one batch of deliveries older than the retention; return their number."""
    return queries.forget(conf().retention_ms, FORGET)
