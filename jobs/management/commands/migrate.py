"""manage.py migrate: Django's, one at a time, for databases that this release can upgrade."""

from time import monotonic
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError  # noqa: TID251 - where hosts begin
from psycopg.errors import DeadlockDetected, LockNotAvailable

from jobs import database
from jobs.services.storage import schema

WAIT_S = 300
# a change of a table waits behind open transactions, and every claim waits behind the change
LOCK_MS = 3_000


class Command(migrate.Command):
    """Migrate, then bring the stored functions up to date.

    Refuses databases that are older than the first release or newer than this one, before any
    change. Several processes may run it at once: they take turns.
    """

    _alias: str | None = None  # of the database of the jobs, while its migrations are applied

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--wait", type=float, default=WAIT_S, metavar="SECONDS",
            help="how long to wait for another migrate, and for locks of tables in use",
        )  # fmt: skip

    def handle(self, *arguments: Any, **options: Any) -> None:
        """Migrate."""
        alias = options["database"]
        if options["plan"] or options["check_unapplied"] or not schema.is_ours(alias):
            super().handle(*arguments, **options)
            if alias == DEFAULT_DB_ALIAS and not schema.is_ours(alias) and options["verbosity"]:
                self.stdout.write(
                    "  The tables of the jobs are in another database: run"
                    f" migrate --database={database.alias()}, too"
                )
            return
        until = monotonic() + options["wait"]
        try:
            with schema.alone(options["wait"]):
                schema.check()
                schema.check_users()
                self._migrate(until, *arguments, **options)
                changed = schema.finish(alias)
                schema.lift_bounds(alias)
        except (schema.SchemaRefused, schema.SchemaBusy) as problem:
            raise CommandError(str(problem)) from None
        if changed and options["verbosity"]:
            self.stdout.write(f"  Stored functions brought up to date: {len(changed)}")

    def _migrate(self, until: float, *arguments: Any, **options: Any) -> None:
        """Apply the migrations; repeat it, from where it was, when a table was in use."""
        self._alias = options["database"]
        while True:
            try:
                super().handle(*arguments, **options)
            except OperationalError as problem:
                if not isinstance(problem.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if monotonic() >= until:
                    raise CommandError(
                        "long transactions use a table: run this again when they have"
                        f" ended: {problem}"
                    ) from None
            else:
                return

    def migration_progress_callback(
        self,
        action: str,
        migration: Any = None,
        fake: bool = False,  # noqa: FBT001, FBT002 - Django's signature
    ) -> None:
        """Bound the waits for locks of each migration that can be repeated as a whole."""
        if action == "apply_start" and self._alias is not None:
            schema.bound_locks(self._alias, LOCK_MS if migration.atomic else 0)
        super().migration_progress_callback(action, migration, fake)
