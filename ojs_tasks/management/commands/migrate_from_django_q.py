"""manage.py migrate_from_django_q: write `ojs_jobs` from the tables of django-q2."""

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser
from django.db import router, transaction  # noqa: TID251 - of django-q2's tables

from ojs_tasks.compat.migration import django_q
from ojs_tasks.compat.migration.output import MigrationCommand


class Command(MigrationCommand):
    """Print a module `ojs_jobs` with the functions and schedules in the tables of django-q2."""

    help = "Print a module ojs_jobs with the functions and schedules of django-q2."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--enqueue",
            action="store_true",
            help="enqueue the waiting tasks and the schedules that run once, and delete their rows",
        )

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Read the tables, and write. Raises CommandError without the app `django_q`."""
        if not apps.is_installed("django_q"):
            raise CommandError("the app 'django_q' is not in INSTALLED_APPS")
        if options["enqueue"] and options["check"]:
            raise CommandError("--check changes nothing, so it excludes --enqueue")
        plan, waiting = django_q.read()
        self.put(plan, options)
        if options["enqueue"]:
            moved = sum(_move(one) for one in waiting)
            self.stderr.write(f"{moved} waiting tasks were enqueued")
        else:
            self.stderr.write(f"{len(waiting)} waiting tasks: --enqueue enqueues them")


def _move(one: django_q.Waiting) -> bool:
    """Enqueue a waiting task and delete its row; False if a cluster took it meanwhile."""
    model = type(one.row)
    with transaction.atomic(using=router.db_for_write(model)):
        rows = model.objects.filter(pk=one.row.pk)
        if hasattr(one.row, "lock"):
            rows = rows.filter(lock=one.row.lock)
        deleted, _ = rows.delete()
        if deleted:
            one.call.enqueue()
    return bool(deleted)
