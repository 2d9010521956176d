"""Webhooks: subscriptions and their deliveries."""

from typing import Any

from django.http import Http404

from console.views.base import PageView
from jobs.domain.errors import NotFound
from jobs.domain.record.events import NAMES
from webhooks.conf import conf
from webhooks.models import Status, Subscription
from webhooks.services.deliveries import DeliveryFilter, deliveries, delivery
from webhooks.services.subscriptions import MOST, visible

SIZE = 50
MOST_PAGES = 200


class Webhooks(PageView):
    """Subscriptions, and the log of deliveries by filter."""

    template_name = "ojs/console/webhooks.html"
    title = "Webhooks"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the subscriptions and a page of deliveries."""
        given = self.request.GET
        chosen = {
            name: given.get(name, "").replace("\x00", "") for name in ("subscription", "status")
        }
        status = chosen["status"] if chosen["status"] in Status.values else ""
        text = given.get("page", "1")
        number = min(MOST_PAGES, max(1, int(text))) if text.isdecimal() and len(text) < 6 else 1  # noqa: PLR2004
        wanted = DeliveryFilter(
            tenant=self.tenant,
            subscription_id=chosen["subscription"] or None,
            status=status or None,
        )
        found, has_more = deliveries(wanted, limit=SIZE, offset=(number - 1) * SIZE)
        subscribed = list(visible(self.tenant)[:MOST])
        return super().get_context_data(
            subscriptions=subscribed,
            rows=[(one, _url(one.subscription_id, subscribed)) for one in found],
            statuses=Status.values,
            status=status,
            chosen=chosen["subscription"],
            names=sorted(NAMES.values()),
            allow_http=conf().allow_http,
            number=number,
            next_number=number + 1 if has_more and number < MOST_PAGES else 0,
            **kwargs,
        )


def _url(subscription_id: str, subscribed: list[Any]) -> str:
    return next((one.url for one in subscribed if one.id == subscription_id), "")


class DeliveryPage(PageView):
    """A delivery with its attempts."""

    template_name = "ojs/console/delivery.html"
    title = "Delivery"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the delivery."""
        found, attempts = _found(kwargs["delivery_id"], self.tenant)
        return super().get_context_data(
            delivery=found,
            attempts=attempts,
            url=_target(found.subscription_id),
            body=bytes(found.body),
            can_retry=found.status != Status.PENDING,
            title=f"{found.event_type} {found.id[-12:]}",
        )


def _target(subscription_id: str) -> str | None:
    """Return the URL of a subscription; None if it was deleted."""
    row = Subscription.objects.filter(id=subscription_id).values_list("url", flat=True)
    return row.first()


def _found(delivery_id: str, tenant: str | None) -> tuple[Any, list[Any]]:
    try:
        return delivery(delivery_id, tenant)
    except NotFound as problem:
        raise Http404 from problem
