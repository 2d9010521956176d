"""Show versions and schemas in Django admin, read-only; schemas are registered through the API."""

from django.contrib import admin
from django.db.models import Model

from jobs.admin import ReadOnly
from jobs.admin.base import on_console
from versioning import models


@admin.register(models.Schema)
class SchemaAdmin(ReadOnly):
    """Schemas by type, the latest version first."""

    list_display = ("type", "version", "mode", "target", "created_at", "updated_at")
    list_filter = ("mode",)
    search_fields = ("type", "uri__exact")
    ordering = ("type", "-major", "-minor", "-patch")

    def get_view_on_site_url(self, obj: Model | None = None) -> str | None:
        """Return the link to the type's page in the console."""
        return on_console("schema", obj.type) if isinstance(obj, models.Schema) else None


@admin.register(models.Route)
class RouteAdmin(ReadOnly):
    """Version keys: types with the versions of their jobs."""

    list_display = ("id", "type", "major", "minor")
    search_fields = ("type",)
    ordering = ("type", "major", "minor")


@admin.register(models.Apart)
class ApartAdmin(ReadOnly):
    """Split types, and the progress of moving their unversioned jobs."""

    list_display = ("type", "route", "is_done", "starts_at")
    search_fields = ("type",)
    ordering = ("type",)


@admin.register(models.Held)
class HeldAdmin(ReadOnly):
    """Jobs that no live worker accepts."""

    list_display = ("route", "jobs", "since", "told_at")
    ordering = ("route",)


@admin.register(models.Routing)
class RoutingAdmin(ReadOnly):
    """Routing rules of types, and the plans of canaries."""

    list_display = (
        "type", "revision", "mode", "on_no_worker", "step", "is_paused", "rolled_back_at",
        "updated_at",
    )  # fmt: skip
    list_filter = ("mode", "is_paused")
    search_fields = ("type",)
    ordering = ("type",)
    console_page = "versions_of_type"


@admin.register(models.Rollback)
class RollbackAdmin(ReadOnly):
    """Versions that were rolled back."""

    list_display = ("type", "at", "from_version", "to_version", "by_rate", "samples", "failed")
    search_fields = ("type",)
    ordering = ("-id",)


@admin.register(models.Redrawing)
class RedrawingAdmin(ReadOnly):
    """Redrawings of waiting jobs, and their progress."""

    list_display = ("type", "revision", "stage", "turn", "starts_at")
    ordering = ("type",)


@admin.register(models.Started)
class StartedAdmin(ReadOnly):
    """The number of started attempts by version key."""

    list_display = ("route", "jobs")
    ordering = ("route",)


@admin.register(models.Reader)
class ReaderAdmin(ReadOnly):
    """The position up to which outcomes of versions were read from the event record."""

    list_display = ("id", "stamp")


@admin.register(models.Trial)
class TrialAdmin(ReadOnly):
    """The evidence against canaries."""

    list_display = ("type", "looks", "log_bet")
    ordering = ("type",)
