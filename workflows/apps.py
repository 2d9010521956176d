"""Application configuration."""

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """Chains, groups and batches of jobs."""

    name = "workflows"
    label = "ojs_workflows"
    default_auto_field = "django.db.models.BigAutoField"
