"""Application configuration."""

from django.apps import AppConfig


class VersioningConfig(AppConfig):
    """Job versions: routing, schemas and canary releases."""

    name = "versioning"
    label = "ojs_versioning"
    verbose_name = "OJS job versions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from versioning import checks  # noqa: F401,PLC0415 - importing it is the registration
