"""Application configuration."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The operators' web console."""

    name = "console"
    label = "ojs_console"
    verbose_name = "Saved views and operations"
    default_auto_field = "django.db.models.BigAutoField"
