"""Read-only pages of findings in Django admin; the console mutes and configures."""

from django.contrib import admin

from attention import models
from jobs.admin import ReadOnly


@admin.register(models.Finding)
class FindingAdmin(ReadOnly):
    """Open findings, and the findings of the last week."""

    list_display = ("rule", "subject", "tenant", "severity", "since", "ended_at", "jobs")
    list_filter = ("severity",)
    search_fields = ("rule", "subject")
    ordering = ("-since",)


@admin.register(models.RuleChange)
class RuleChangeAdmin(ReadOnly):
    """Changed thresholds of rules."""

    list_display = ("rule", "is_enabled", "updated_at", "updated_by")
    ordering = ("rule",)


@admin.register(models.Look)
class LookAdmin(ReadOnly):
    """The last run of the rules."""

    list_display = ("id", "at", "failed")


@admin.register(models.ProcedureRow)
class ProcedureAdmin(ReadOnly):
    """Saved procedures; the console changes them."""

    list_display = ("name", "about", "subject", "verb", "updated_at", "updated_by")
    list_filter = ("about", "verb")
    search_fields = ("name", "subject")
    ordering = ("name",)
