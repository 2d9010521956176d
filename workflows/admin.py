"""Read-only pages of workflows in Django admin; services make all changes.

The admin cannot show steps, because their key has two columns. The console shows them.
"""

from django.contrib import admin

from jobs.admin import ById
from workflows import models


@admin.register(models.Workflow)
class WorkflowAdmin(ById):
    """Workflows, newest first; `kind` and `state` are codes of domain/kinds.py."""

    console_page = "workflow"
    list_filter = ("state", "kind")
    list_display = (
        "id", "name", "kind", "state", "tenant", "members", "open", "completed", "failed",
        "created_at", "finished_at",
    )  # fmt: skip
