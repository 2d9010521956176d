"""Read-only pages of webhooks in Django admin; actions call the services of the API."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin import ReadOnly, each
from jobs.domain.access.caller import Caller
from jobs.services.audit.audit import audited
from webhooks import models
from webhooks.services import deliveries, subscriptions


@admin.register(models.Subscription)
class SubscriptionAdmin(ReadOnly):
    """Subscriptions, without their secrets, not even encrypted."""

    list_display = ("id", "url", "active", "tenant", "success_count", "failure_count")
    list_filter = ("active",)
    search_fields = ("url", "tenant__exact")
    exclude = ("secret", "previous_secret")
    ordering = ("url", "id")
    actions = ("switch_on", "switch_off")

    @admin.action(description="Enable the selected subscriptions")
    def switch_on(self, request: HttpRequest, queryset: QuerySet[models.Subscription]) -> None:
        """Deliver events from now on."""
        self._switch(request, queryset, active=True)

    @admin.action(description="Disable the selected subscriptions")
    def switch_off(self, request: HttpRequest, queryset: QuerySet[models.Subscription]) -> None:
        """Deliver no events that happen before the subscriptions are switched on again."""
        self._switch(request, queryset, active=False)

    def _switch(
        self, request: HttpRequest, queryset: QuerySet[models.Subscription], *, active: bool
    ) -> None:
        def switch(row: models.Subscription, who: Caller) -> None:
            with audited(who, "webhook.changed", str(row.id)) as data:
                data["active"] = active
                subscriptions.change(row.id, None, {"active": active}, who)

        each(request, queryset, switch, f"subscriptions are {'on' if active else 'off'}")


@admin.register(models.Delivery)
class DeliveryAdmin(ReadOnly):
    """The log of deliveries, newest first."""

    list_display = ("id", "event_type", "subscription_id", "status", "attempts", "created_at")
    list_filter = ("status",)
    search_fields = ("subscription_id__exact",)
    search_help_text = "A whole id of a subscription"
    ordering = ("-created_at", "-id")
    exclude = ("body",)
    console_page = "delivery"
    actions = ("send_again",)

    @admin.action(description="Send the selected deliveries again")
    def send_again(self, request: HttpRequest, queryset: QuerySet[models.Delivery]) -> None:
        """Try the deliveries again at once."""

        def retry(row: models.Delivery, who: Caller) -> None:
            with audited(who, "webhook.delivery_retried", str(row.id)):
                deliveries.retry(str(row.id))

        each(request, queryset, retry, "deliveries are sent again")


@admin.register(models.Position)
class PositionAdmin(ReadOnly):
    """The position in the event record up to which deliveries exist."""

    list_display = ("id", "place")
