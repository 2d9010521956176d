"""Application configuration."""

from django.apps import AppConfig


class FederationConfig(AppConfig):
    """Regions: routing, health and failover."""

    name = "federation"
    label = "ojs_federation"
    default_auto_field = "django.db.models.BigAutoField"
