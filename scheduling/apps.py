"""Application configuration."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Pools, queue strategies, starvation prevention and cron."""

    name = "scheduling"
    label = "ojs_scheduling"
    default_auto_field = "django.db.models.BigAutoField"
