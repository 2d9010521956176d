"""Application configuration."""

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from jobs.domain import extras


class FederationConfig(AppConfig):
    """Regions: routing, health and failover."""

    name = "federation"
    label = "ojs_federation"
    verbose_name = "OJS federation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks. Refuse to start without the extra `federation`."""
        if problem := extras.missing("federation", *extras.MODULES["federation"]):
            raise ImproperlyConfigured(problem)
        from federation import checks  # noqa: F401,PLC0415 - importing it registers them
