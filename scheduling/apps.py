"""Application configuration."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Pools, queue strategies, starvation prevention and cron."""

    name = "scheduling"
    label = "ojs_scheduling"
    verbose_name = "OJS scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from scheduling import checks  # noqa: F401,PLC0415 - importing it is the registration
