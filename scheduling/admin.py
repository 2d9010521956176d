"""Show schedules and pools in Django admin, read-only.

Actions call the same services as the API.
"""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin import ReadOnly, each
from jobs.domain.access.caller import Caller
from jobs.services.audit.audit import audited
from scheduling import models
from scheduling.services import cron_register
from scheduling.services.cron_trigger import trigger


@admin.register(models.CronEntry)
class CronEntryAdmin(ReadOnly):
    """Schedules and their next run."""

    list_display = (
        "name", "tenant", "project", "expression", "timezone", "overlap_policy", "enabled",
        "next_run_at", "last_run_at", "run_count",
    )  # fmt: skip
    list_filter = ("enabled", "overlap_policy")
    search_fields = ("name",)
    ordering = ("name", "id")
    console_page = "cron"
    actions = ("run_now", "pause", "resume")

    @admin.action(description="Run the selected schedules now")
    def run_now(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Enqueue a job of each chosen schedule now."""

        def run(row: models.CronEntry, who: Caller) -> None:
            with audited(who, "cron.trigger", str(row.pk)):
                trigger(row.name, who, tenant=row.tenant, check=_allow)

        each(request, queryset, run, "schedules created a job")

    @admin.action(description="Pause the selected schedules")
    def pause(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Pause the chosen schedules; they make no jobs."""
        self._switch(request, queryset, enabled=False)

    @admin.action(description="Resume the selected schedules")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.CronEntry]) -> None:
        """Resume the chosen schedules; they make jobs at their times."""
        self._switch(request, queryset, enabled=True)

    def _switch(
        self, request: HttpRequest, queryset: QuerySet[models.CronEntry], *, enabled: bool
    ) -> None:
        def switch(row: models.CronEntry, who: Caller) -> None:
            with audited(who, f"cron.{'resume' if enabled else 'pause'}", str(row.pk)):
                cron_register.switch(row.name, who, _allow, enabled=enabled, tenant=row.tenant)

        each(request, queryset, switch, f"schedules are {'on' if enabled else 'paused'}")


def _allow(_queue: str, _kind: str) -> None:
    """Refuse nothing: the right to change schedules includes the right to make their jobs."""


@admin.register(models.CronTurn)
class CronTurnAdmin(ReadOnly):
    """Overlap slots: the running and the waiting runs of schedules with policy `enqueue`."""

    list_display = ("entry_id", "holder", "waiting")
    ordering = ("entry_id",)


@admin.register(models.PoolRow)
class PoolAdmin(ReadOnly):
    """Stored pools of workers; pools of the settings have no row."""

    list_display = (
        "name", "queue_names", "strategy", "concurrency", "isolated", "tenant", "updated_at",
    )  # fmt: skip
    list_filter = ("strategy", "isolated")
    search_fields = ("name",)
    ordering = ("name",)
    console_page = "pool"

    def get_queryset(self, request: HttpRequest) -> QuerySet[models.PoolRow]:
        """Prefetch the queues of all pools."""
        return super().get_queryset(request).prefetch_related("queues")

    @admin.display(description="queues")
    def queue_names(self, pool: models.PoolRow) -> str:
        """List the queues in their order, with their weights."""
        listed = sorted(pool.queues.all(), key=lambda queue: queue.position)
        return ", ".join(f"{queue.queue} ({queue.weight})" for queue in listed)


@admin.register(models.Configuration)
class ConfigurationAdmin(ReadOnly):
    """Scheduling defaults, for queues and claims that no pool governs."""

    list_display = ("id", "default_strategy", "priority_scope", "tenants", "updated_at")


@admin.register(models.QueueWatch)
class QueueWatchAdmin(ReadOnly):
    """Queues with waiting jobs of which none starts, and the start of each episode."""

    list_display = ("queue", "since", "told_at")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.Overload)
class OverloadAdmin(ReadOnly):
    """Pools with waiting jobs and no room for more active jobs."""

    list_display = ("pool", "told_at")
    search_fields = ("pool",)
    ordering = ("pool",)
