"""Application configuration."""

from django.apps import AppConfig


class FederationConfig(AppConfig):
    """Regions: routing, health and failover."""

    name = "federation"
    label = "ojs_federation"
    verbose_name = "OJS federation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from federation import checks  # noqa: F401,PLC0415 - importing it registers them
