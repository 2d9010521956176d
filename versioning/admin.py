"""Versions and schemas in Django admin, to read: the API registers schemas."""

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
        """Lead to the type's page in the console."""
        return on_console("schema", obj.type) if isinstance(obj, models.Schema) else None


@admin.register(models.Route)
class RouteAdmin(ReadOnly):
    """Versions of types that jobs came with."""

    list_display = ("id", "type", "major", "minor")
    search_fields = ("type",)
    ordering = ("type", "major", "minor")


@admin.register(models.Held)
class HeldAdmin(ReadOnly):
    """Jobs that no live worker accepts."""

    list_display = ("route", "jobs", "since", "told_at")
    ordering = ("route",)
