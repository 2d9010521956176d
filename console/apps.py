"""Application configuration."""

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from jobs.domain import extras


class ConsoleConfig(AppConfig):
    """The operators' web console."""

    name = "console"
    label = "ojs_console"
    verbose_name = "Saved views and operations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Refuse to start without the packages of the extra `console`."""
        if problem := extras.missing("the console", *extras.MODULES["console"]):
            raise ImproperlyConfigured(problem)
        from console import checks  # noqa: F401,PLC0415 - importing it is the registration
