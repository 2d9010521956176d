"""Schedules and pools in Django admin, to read; actions call the services that the API calls."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin import ReadOnly, each
from jobs.domain.caller import Caller
from jobs.services.audit.audit import audited
from scheduling import models
from scheduling.services import cron_register
from scheduling.services.cron_trigger import trigger


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
    console_page = "cron"
    actions = ("run_now", "pause", "resume")

    @admin.action(description="Run the chosen schedules now")
    def run_now(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Enqueue a job of each."""

        def run(row: models.CronEntry, who: Caller) -> None:
            with audited(who, "cron.trigger", str(row.pk)):
                trigger(row.name, who, tenant=row.tenant, check=_allow)

        each(request, queryset, run, "schedules made a job")

    @admin.action(description="Pause the chosen schedules")
    def pause(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Let them make no jobs."""
        self._switch(request, queryset, enabled=False)

    @admin.action(description="Resume the chosen schedules")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Let them make jobs at their times."""
        self._switch(request, queryset, enabled=True)

    def _switch(
        self, request: HttpRequest, queryset: QuerySet[models.CronEntry], *, enabled: bool
    ) -> None:
        def switch(row: models.CronEntry, who: Caller) -> None:
            with audited(who, f"cron.{'resume' if enabled else 'pause'}", str(row.pk)):
                cron_register.switch(row.name, who, _allow, enabled=enabled, tenant=row.tenant)

        each(request, queryset, switch, f"schedules are {'on' if enabled else 'paused'}")


def _allow(_queue: str, _kind: str) -> None:
    """Refuse nothing: who may change schedules may let them make any job."""


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
    console_page = "pool"

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


@admin.register(models.QueueWatch)
class QueueWatchAdmin(ReadOnly):
    """Since when queues starve."""

    list_display = ("queue", "since", "told_at")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.Overload)
class OverloadAdmin(ReadOnly):
    """Pools that are full."""

    list_display = ("pool", "told_at")
    search_fields = ("pool",)
    ordering = ("pool",)
