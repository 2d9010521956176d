"""Tenants in Django admin: to read; changes go through services."""

from django.contrib import admin

from jobs.admin import ReadOnly
from tenancy import models


@admin.register(models.Throttle)
class ThrottleAdmin(ReadOnly):
    """What is taken from noisy tenants."""

    list_display = ("tenant_id", "hold", "action", "factor", "had", "reasons", "since", "until")
    list_filter = ("hold", "action")
    ordering = ("tenant",)


@admin.register(models.Tenant)
class TenantAdmin(ReadOnly):
    """Tenants, their limits and weights."""

    list_display = (
        "id", "name", "state", "source", "max_concurrency", "enqueue_limit", "enqueue_period_ms",
        "max_queue_depth", "max_scheduled", "fairness_weight", "quota_mode", "updated_at",
    )  # fmt: skip
    list_filter = ("state", "source", "quota_mode")
    search_fields = ("id", "name")
    ordering = ("id",)
