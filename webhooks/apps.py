"""Application configuration of webhooks."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Subscriptions and deliveries."""

    name = "webhooks"
    label = "ojs_webhooks"
    verbose_name = "OJS webhooks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from webhooks import checks  # noqa: F401,PLC0415 - importing it is the registration
