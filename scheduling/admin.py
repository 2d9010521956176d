"""Schedules and pools in Django admin: to read; changes go through services."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin import ReadOnly
from scheduling import models


@admin.register(models.CronEntry)
class CronEntryAdmin(ReadOnly):
    """Schedules and when they run next."""

    list_display = (
        "name", "tenant", "expression", "timezone", "overlap_policy", "enabled", "next_run_at",
        "last_run_at", "run_count",
    )  # fmt: skip
    list_filter = ("enabled", "overlap_policy")
    search_fields = ("name",)
    ordering = ("name", "id")


@admin.register(models.CronTurn)
class CronTurnAdmin(ReadOnly):
    """Whose turn it is where runs wait for each other."""

    list_display = ("entry_id", "holder", "waiting")
    ordering = ("entry_id",)


@admin.register(models.PoolRow)
class PoolAdmin(ReadOnly):
    """Pools of workers; those of the settings are not stored."""

    list_display = (
        "name", "queue_names", "strategy", "concurrency", "isolated", "tenant", "updated_at",
    )  # fmt: skip
    list_filter = ("strategy", "isolated")
    search_fields = ("name",)
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[models.PoolRow]:
        """Read the queues of all pools at once."""
        return super().get_queryset(request).prefetch_related("queues")

    @admin.display(description="queues")
    def queue_names(self, pool: models.PoolRow) -> str:
        """Name the queues in their order, with their weights."""
        listed = sorted(pool.queues.all(), key=lambda queue: queue.position)
        return ", ".join(f"{queue.queue} ({queue.weight})" for queue in listed)


@admin.register(models.Configuration)
class ConfigurationAdmin(ReadOnly):
    """What holds where no pool says otherwise."""

    list_display = ("id", "default_strategy", "priority_scope", "tenants", "updated_at")
