"""Workflows in Django admin: to read; what changes them goes through services.

Steps have a key of two columns, which the admin cannot show; the console does.
"""

from django.contrib import admin

from jobs.admin import ById
from workflows import models


@admin.register(models.Workflow)
class WorkflowAdmin(ById):
    """Workflows, newest first; codes are those of domain/kinds.py."""

    console_page = "workflow"
    list_filter = ("state", "kind")
    list_display = (
        "id", "name", "kind", "state", "tenant", "members", "open", "completed", "failed",
        "created_at", "finished_at",
    )  # fmt: skip
