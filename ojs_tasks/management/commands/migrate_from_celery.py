"""manage.py migrate_from_celery: write `ojs_jobs` from a Celery application."""

from importlib import import_module
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ojs_tasks.compat.migration import celery_app
from ojs_tasks.compat.migration.output import MigrationCommand


class Command(MigrationCommand):
    """Print a module `ojs_jobs` with the tasks and the beat schedule of a Celery application."""

    help = "Print a module ojs_jobs with the tasks and schedules of a Celery application."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("app", help="path of the application, such as shop.celery.app")
        super().add_arguments(parser)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Read the application, and write. Raises CommandError."""
        self.put(celery_app.read(_application(options["app"]), options["app"]), options)


def _application(path: str) -> Any:
    """Return the application of `shop.celery.app`, `shop.celery:app`, or `shop.celery`."""
    path = path.replace(":", ".")
    module, _, name = path.rpartition(".")
    found: Any = None
    try:
        found = getattr(import_module(module), name, None) if module else None
        if found is None or not hasattr(found, "tasks"):
            found = getattr(import_module(path), "app", None)
    except ImportError as problem:
        raise CommandError(f"cannot import {path!r}: {problem}") from None
    if not hasattr(found, "tasks"):
        raise CommandError(f"{path!r} is no Celery application")
    if hasattr(found, "loader"):  # imports the modules of autodiscover_tasks
        found.loader.import_default_modules()
    return found
