"""Application configuration of durable execution."""

from django.apps import AppConfig


class DurableConfig(AppConfig):
    """Checkpoints and signals of jobs."""

    name = "durable"
    label = "ojs_durable"
    verbose_name = "OJS durable execution"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from durable import checks  # noqa: F401,PLC0415 - importing it is the registration
