"""The hooks of webhooks into the core: three loops, the position and the manifest."""

from collections.abc import Iterable, Sequence

from typing_extensions import override

from jobs.domain.outbound.vault import Resealed
from jobs.extensions import (
    ConfigKind,
    ConfigurationHooks,
    Facts,
    Loop,
    MoveHooks,
    OperationsHooks,
    Remark,
    ReportHooks,
)
from webhooks.services import documents
from webhooks.services.deliveries import delete_expired_deliveries
from webhooks.services.relay import relay, unread_from
from webhooks.services.send import Sender
from webhooks.services.subscriptions import remarks, reseal

SUBSCRIBED = ("ojs_webhook_subscription",)

sender = Sender()


class WebhooksExtension(ReportHooks, OperationsHooks, ConfigurationHooks, MoveHooks):
    """Sends events to subscribers, at no cost for the statements of jobs."""

    @override
    def reseal(self) -> Resealed:
        """Encrypt the secrets of subscriptions with the first key."""
        return reseal()

    @override
    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Name the subscriptions that stay: their secrets may need the keys of the old cell."""
        return () if arrives else remarks(tenant)

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return documents.KINDS

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables that a reset empties."""
        return (
            "ojs_webhook_subscription", "ojs_webhook_delivery", "ojs_webhook_attempt",
            "ojs_webhook_position",
        )  # fmt: skip

    @override
    def loops(self) -> Iterable[Loop]:
        """Relay events, send due deliveries and remove old deliveries."""
        return (
            Loop("webhooks_relay", relay, 250, reads_events=True, while_rows_of=SUBSCRIBED),
            Loop("webhooks_send", sender.run_once, 200, while_rows_of=("ojs_webhook_delivery",)),
            Loop("webhooks_forget", delete_expired_deliveries, 60_000),
        )

    @override
    def unread_from(self) -> int | None:
        """Keep events until the relay has read them."""
        return unread_from()

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the extension."""
        return (
            Facts(
                "webhooks",
                "urn:ojs:ext:webhooks",
                "1.0.0",
                capabilities={"webhooks": True},
                paths=("webhooks",),
            ),
        )
