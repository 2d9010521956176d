"""Application configuration of the package that host projects import."""

from contextlib import suppress
from importlib import import_module
from types import ModuleType

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Jobs in Python. List it first: then it can explain why another app does not load."""

    name = "ojs_tasks"
    label = "ojs_tasks"
    verbose_name = "Open Job Spec in Python"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        """Refuse settings that end the start with an error of Django's, which names no cure.

        Raises ImproperlyConfigured.
        """
        super().__init__(app_name, app_module)
        from ojs_tasks import checks  # noqa: PLC0415 - importing it is the registration

        checks.refuse_unloadable()

    def ready(self) -> None:
        """Register the check of `TASKS`: Django 6 has it, and imports it nowhere."""
        with suppress(ImportError):  # Django 5.2, whose backport registers its own
            import_module("django.tasks.checks")
