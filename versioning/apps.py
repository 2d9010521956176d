"""Application configuration."""

from django.apps import AppConfig


class VersioningConfig(AppConfig):
    """Job versions: routing, schemas and canary releases."""

    name = "versioning"
    label = "ojs_versioning"
    default_auto_field = "django.db.models.BigAutoField"
