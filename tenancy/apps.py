"""Application configuration."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    """Tenants: identification, limits and fair shares. The core keeps their lanes."""

    name = "tenancy"
    label = "ojs_tenancy"
    verbose_name = "OJS tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from tenancy import checks  # noqa: F401,PLC0415 - importing it is the registration
