"""The webhooks in Django admin, to read: the console and the API change subscriptions."""

from django.contrib import admin

from jobs.admin import ReadOnly
from webhooks import models


@admin.register(models.Subscription)
class SubscriptionAdmin(ReadOnly):
    """Secrets are not shown, not even encrypted."""

    list_display = ("id", "url", "active", "tenant", "success_count", "failure_count")
    exclude = ("secret", "previous_secret")


@admin.register(models.Delivery)
class DeliveryAdmin(ReadOnly):
    """The log of deliveries, newest first."""

    list_display = ("id", "event_type", "subscription_id", "status", "attempts", "created_at")
    ordering = ("-created_at", "-id")
    exclude = ("body",)
