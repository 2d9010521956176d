"""Create, change and remove subscriptions. Spec: contract 26.1, 26.2."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.outbound.vault import Resealed, Vault
from jobs.domain.record.events import Kind
from jobs.domain.wire.ids import new_id
from jobs.extensions import Document, Remark
from jobs.services.audit.config_log import Subject, recorded
from jobs.services.outbound import vaults
from jobs.services.record.emit import NewEvent, emit
from jobs.services.record.events import horizon
from webhooks.conf import conf
from webhooks.domain.signature import new_secret
from webhooks.models import Delivery, Position, Status, Subscription
from webhooks.services.documents import WEBHOOK

MOST = 1_000
OPEN = (Status.PENDING, Status.FAILED)
PURPOSE = "ojs webhook secrets"


@dataclass(frozen=True, slots=True)
class Draft:
    """A new subscription as requested; without a secret the server makes one."""

    url: str
    events: list[str]
    queues: list[str] = field(default_factory=list)
    job_types: list[str] = field(default_factory=list)
    secret: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    active: bool = True
    tenant: str | None = None
    timeout_ms: int | None = None


def vault() -> Vault:
    """Return the vault that seals the secrets."""
    return vaults.vault(PURPOSE, conf().secret_key)


def create(draft: Draft, caller: Caller) -> tuple[Subscription, str]:
    """Store a subscription; return it and its secret, which is shown only this once.

    Raises Conflict if there are too many subscriptions.
    """
    secret, made_id = draft.secret or new_secret(), f"sub_{new_id()}"
    with recorded(caller, Subject(WEBHOOK, made_id, draft.tenant), "webhook.created"):
        _begin_reading()
        if Subscription.objects.count() >= MOST:
            raise Conflict(f"there are {MOST} subscriptions already: delete one first")
        made = Subscription.objects.create(
            id=made_id, url=draft.url, events=draft.events, queues=draft.queues,
            job_types=draft.job_types, secret=vault().seal(secret), metadata=draft.metadata,
            active=draft.active, tenant=draft.tenant, timeout_ms=draft.timeout_ms,
            created_by=caller.name,
        )  # fmt: skip
        emit([_event(Kind.WEBHOOK_CREATED, made)])
    return show(made.id), secret


def _begin_reading() -> None:
    """Move the position to now if there is no active subscription yet.

    Locks the position row, as the relay does, so the relay cannot miss the change.
    """
    Position.objects.get_or_create(id=1, defaults={"place": horizon().number})
    position = Position.objects.select_for_update().get(id=1)
    if not Subscription.objects.filter(active=True).exists():
        position.place = horizon().number
        position.save(update_fields=["place"])


def reseal() -> Resealed:
    """Encrypt the secrets of all subscriptions with the first key."""
    return vaults.reseal(Subscription.objects.all(), ("secret", "previous_secret"), vault())


def visible(tenant: str | None) -> QuerySet[Subscription]:
    """Return the subscriptions that a caller bound to `tenant` may see; None: all."""
    return (
        Subscription.objects.all() if tenant is None else Subscription.objects.filter(tenant=tenant)
    )


def show(subscription_id: str, tenant: str | None = None) -> Subscription:
    """Read a subscription. Raises NotFound, also for another tenant's."""
    found = visible(tenant).filter(id=subscription_id).first()
    if found is None:
        raise NotFound.of("subscription", subscription_id)
    return found


def change(
    subscription_id: str, tenant: str | None, members: dict[str, Any], caller: Caller = SYSTEM
) -> Subscription:
    """Set some columns of a subscription. Raises NotFound.

    Switching on again resets the failures; only later events are sent.
    """
    subject = _subject(show(subscription_id, tenant))
    with recorded(caller, subject, "webhook.changed"):
        if members.get("active"):
            _begin_reading()
        found = visible(tenant).select_for_update().filter(id=subscription_id).first()
        if found is None:
            raise NotFound.of("subscription", subscription_id)
        changed: dict[str, Any] = {**members, "updated_at": Now()}
        if members.get("active") and not found.active:
            changed |= {"active_since": Now(), "dead_in_row": 0, "disabled_reason": None}
        Subscription.objects.filter(id=subscription_id).update(**changed)
    return show(subscription_id)


def delete(subscription_id: str, tenant: str | None = None, caller: Caller = SYSTEM) -> None:
    """Remove a subscription and cancel its unfinished deliveries. Raises NotFound."""
    subject = _subject(show(subscription_id, tenant))
    with recorded(caller, subject, "webhook.deleted", can_undo=False):  # its secret is gone
        found = visible(tenant).select_for_update().filter(id=subscription_id).first()
        if found is None:
            raise NotFound.of("subscription", subscription_id)
        open_ones = Delivery.objects.filter(subscription_id=found.id, status__in=OPEN)
        open_ones.update(status=Status.CANCELLED, next_attempt_at=None, ended_at=Now())
        Subscription.objects.filter(id=found.id).delete()
        emit([_event(Kind.WEBHOOK_DELETED, found)])


def restore(name: str, tenant: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a subscription; None: delete it. Raises Conflict if it is gone with its secret."""
    if document is None:
        delete(name, tenant, caller)
    elif not Subscription.objects.filter(id=name).exists():
        raise Conflict(f"subscription {name} is deleted with its secret: create a new one")
    else:
        change(name, tenant, dict(document), caller)


def _subject(found: Subscription) -> Subject:
    return Subject(WEBHOOK, found.id, found.tenant)


def rotate(subscription_id: str, tenant: str | None = None) -> tuple[Subscription, str]:
    """Replace the secret; the previous secret signs for a day, too. Raises NotFound."""
    secret = new_secret()
    with atomic():
        found = visible(tenant).select_for_update().filter(id=subscription_id).first()
        if found is None:
            raise NotFound.of("subscription", subscription_id)
        found.previous_secret = found.secret
        found.previous_valid_until = timezone.now() + timedelta(milliseconds=conf().rotation_ms)
        found.secret = vault().seal(secret)
        found.save(update_fields=["secret", "previous_secret", "previous_valid_until"])
    return found, secret


def _event(kind: Kind, subscription: Subscription) -> NewEvent:
    return NewEvent(
        kind,
        tenant=subscription.tenant,
        data={"subscription_id": subscription.id, "url": subscription.url},
    )


def remarks(tenant: str) -> list[Remark]:
    """Say which subscriptions of a tenant stay when it moves to another cell."""
    number = Subscription.objects.filter(tenant=tenant).count()
    text = f"{number} webhook subscriptions stay: make them in the new cell before the move"
    return [Remark(text)] if number else []
