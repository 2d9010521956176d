"""Application configuration."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    """Tenants: isolation, limits and fair shares. The core keeps their lanes."""

    name = "tenancy"
    label = "ojs_tenancy"
    default_auto_field = "django.db.models.BigAutoField"
