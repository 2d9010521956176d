"""Application configuration."""

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """Chains, groups, batches and step graphs of jobs."""

    name = "workflows"
    label = "ojs_workflows"
    default_auto_field = "django.db.models.BigAutoField"
