"""manage.py runworker: the remote worker, or the command of the server's apps if they are here.

Both apps, `jobs` and `ojs_tasks`, have a command of this name, and Django takes that of the first
app in INSTALLED_APPS. So this one gives way: with the server's apps the order does not matter.
"""

import sys
from importlib import import_module
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from ojs_tasks.installed import has_app
from ojs_tasks.remote.command import add_arguments, run

LOCAL: Final = "jobs.management.commands.runworker"  # it knows --server, too


class RemoteCommand(BaseCommand):
    """Run the handlers of this project for a server at a distance, until SIGTERM or SIGINT.

    The first SIGTERM drains; the second ends at once; SIGTSTP stops claiming, SIGCONT resumes.
    Exit code 0: everything finished; 1: some jobs were given back.
    """

    help = "Run the handlers of this project for the OJS server that OJS['SERVER'] names."
    requires_system_checks: list[str] = []  # `--server` replaces the setting that a check misses

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        add_arguments(parser)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until a signal ends it."""
        sys.exit(run(options))


def Command() -> BaseCommand:  # noqa: N802 - Django calls this name
    """Return the command of this project."""
    if has_app("jobs"):
        found: BaseCommand = import_module(LOCAL).Command()
        return found
    return RemoteCommand()
