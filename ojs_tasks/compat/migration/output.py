"""What both commands of the migration share: their options and their output."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ojs_tasks.compat.migration.plan import Plan


class MigrationCommand(BaseCommand):
    """Writes a module `ojs_jobs`; the report goes to standard error."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        target = parser.add_mutually_exclusive_group()
        target.add_argument("--write", metavar="FILE", help="write the module to a new file")
        target.add_argument("--check", action="store_true", help="only report")

    def put(self, plan: Plan, options: dict[str, Any]) -> None:
        """Print or write the module, and report. Raises CommandError if the file exists."""
        if options["write"]:
            try:
                with Path(options["write"]).open("x") as file:
                    file.write(plan.text)
            except OSError as problem:
                raise CommandError(f"cannot write {options['write']}: {problem.strerror}") from None
        elif not options["check"]:
            self.stdout.write(plan.text)
        self.stderr.write(
            f"{len(plan.handlers)} handlers, {len(plan.schedules)} schedules,"
            f" {len(plan.notes)} to do by hand"
        )
        for note in plan.notes:
            self.stderr.write(f"- {note}")
