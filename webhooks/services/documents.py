"""The kind of configuration of this app, and its document for the history."""

from typing import Final

from jobs.extensions import ConfigKind, Document
from webhooks.models import Subscription

MEMBERS: Final = ("url", "events", "queues", "job_types", "metadata", "active", "timeout_ms")


def _subscription(name: str, tenant: str | None) -> Document | None:
    found = Subscription.objects.filter(id=name, tenant=tenant)
    document: Document | None = found.values(*MEMBERS).first()
    return document


WEBHOOK: Final = ConfigKind(
    "webhook", "Webhook", ("ojs_webhook_subscription",), _subscription,
    "webhooks.services.subscriptions.restore",
    see="webhooks.see", change="webhooks.configure", delete="webhooks.delete",
)  # fmt: skip
KINDS: Final = (WEBHOOK,)
