"""Regions in Django admin; changes use the services of the API."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from federation import models
from federation.domain.breaker import State
from federation.forms import RegionForm
from federation.services.health import breakers
from federation.services.registry import configure
from federation.services.registry.regions import registry
from federation.services.routing import route
from jobs.admin import BoundedPaginator, Permitted, ReadOnly, caller_of
from jobs.domain.errors import OJSError
from jobs.services.audit.audit import record

SHOWN = (
    "source", "status", "latency", "breaker", "failures", "last_error", "created_at", "updated_at",
)  # fmt: skip


@admin.register(models.FederationConfig)
class ConfigurationAdmin(ReadOnly):
    """The configuration of the federation; only the API changes it."""

    list_display = ("id", "version", "updated_at")


@admin.register(models.RegionHealth)
class HealthAdmin(ReadOnly):
    """The health of the regions, as this server stored it."""

    list_display = ("region", "status", "breaker", "failures", "ewma_ms", "last_error")
    ordering = ("region",)
    list_filter = ("status", "breaker")
    search_fields = ("region__id",)


@admin.register(models.RegionLoad)
class LoadAdmin(ReadOnly):
    """The last known load of the regions."""

    list_display = ("region", "available", "active", "at")
    ordering = ("region",)
    search_fields = ("region__id",)


@admin.register(models.ReplicationPeer)
class PeerAdmin(ReadOnly):
    """The state of the replication to each region, and of the copies from it."""

    list_display = ("region", "cursor", "sent", "refused", "sent_at", "received", "received_at",
                    "conflicts", "failures", "last_error")  # fmt: skip
    search_fields = ("region",)
    ordering = ("region",)


@admin.register(models.ReplicationPosition)
class PositionAdmin(ReadOnly):
    """The position up to which replication has read the event record."""

    list_display = ("id", "stamp", "seq", "revision")
    ordering = ("id",)


@admin.register(models.Region)
class RegionAdmin(Permitted):
    """The registry of regions. A token may be set here, and is never shown."""

    form = RegionForm
    paginator = BoundedPaginator
    show_full_result_count = False
    list_select_related = ("health",)
    list_display = (
        "id", "url", "status", "breaker", "latency", "weight", "is_hub", "enabled", "drain",
        "source",
    )  # fmt: skip
    list_filter = ("source", "enabled", "drain", "health__status", "health__breaker")
    search_fields = ("id", "url")
    ordering = ("id",)
    readonly_fields = SHOWN
    actions = ("probe", "open_breakers", "close_breakers", "drain", "undrain")

    @admin.display(ordering="health__status")
    def status(self, row: models.Region) -> str:
        """Show the status of the last probe."""
        return str(row.health.status)

    @admin.display(description="circuit breaker", ordering="health__breaker")
    def breaker(self, row: models.Region) -> str:
        """Show the stored state of the breaker."""
        return f"{row.health.breaker}{' by hand' if row.health.is_forced else ''}"

    @admin.display(ordering="health__ewma_ms")
    def latency(self, row: models.Region) -> str:
        """Show the average round trip."""
        ms = row.health.ewma_ms
        return "-" if ms is None else f"{ms:.0f} ms"

    def failures(self, row: models.Region) -> int:
        """Show the number of calls that failed in a row."""
        return row.health.failures

    def last_error(self, row: models.Region) -> str:
        """Show the last error."""
        return row.health.last_error or "-"

    def get_fieldsets(self, request: HttpRequest, obj: models.Region | None = None) -> Any:
        """Show the form's fields; only a new region has the field of the id."""
        ids = ["region_id"] if obj is None else []
        shown = list(SHOWN) if obj is not None else []
        return [(None, {"fields": [*ids, *RegionForm.asked(obj), *shown]})]

    def save_model(
        self,
        request: HttpRequest,
        obj: models.Region,
        form: Any,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        """Store the region by the service."""
        _unless_refused(lambda: configure.put_region(form.region, caller_of(request)))
        obj.pk = form.region.id

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the regions that cannot be deleted, with the reasons."""
        found, counted, _, kept = super().get_deleted_objects(objs, request)
        obstacles = [str(problem) for row in objs if (problem := configure.obstacle(row))]
        return found, counted, set(), [*kept, *obstacles]  # health and load go with it

    def delete_model(self, request: HttpRequest, obj: models.Region) -> None:
        """Delete by the service, which refuses if an obstacle has appeared meanwhile."""
        _unless_refused(lambda: configure.delete_region(str(obj.pk), caller_of(request)))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Delete each region by the service."""
        for row in queryset:
            self.delete_model(request, row)

    @admin.action(description="Probe the selected regions")
    def probe(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Probe the health of the regions, except regions with an open breaker."""
        config = registry().config
        if config is None:
            messages.error(request, f"{registry().problem.capitalize()}.")
            return
        ids = [str(row.pk) for row in queryset]
        for region in ids:
            record(caller_of(request), "federation.region_probed", region)
        route.probe_all(ids, config)
        messages.success(request, f"{len(ids)} regions were asked.")

    @admin.action(description="Open the breakers of the selected regions")
    def open_breakers(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Send no requests to the regions until their breakers are closed."""
        for row in queryset:
            breakers.force(str(row.pk), State.OPEN, caller_of(request))

    @admin.action(description="Close the breakers of the selected regions")
    def close_breakers(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Send requests to the regions again."""
        for row in queryset:
            breakers.force(str(row.pk), State.CLOSED, caller_of(request))

    @admin.action(description="Drain the selected regions")
    def drain(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Route no new jobs to the regions."""
        for row in queryset:
            configure.set_drain(str(row.pk), caller_of(request), drain=True)

    @admin.action(description="Undrain the selected regions")
    def undrain(self, request: HttpRequest, queryset: QuerySet[models.Region]) -> None:
        """Route jobs to the regions again."""
        for row in queryset:
            configure.set_drain(str(row.pk), caller_of(request), drain=False)


def _unless_refused(work: Callable[[], object]) -> None:
    try:
        work()
    except OJSError as problem:
        raise PermissionDenied(str(problem)) from problem
