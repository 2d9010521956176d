"""manage.py adopt_jobs: enqueue the waiting jobs of a lost region here."""

from collections import Counter
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from federation.services.replication.adopt import MOST, WHY_NOT, Order, adopt
from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError
from jobs.domain.wire.names import QUEUE_PATTERN


class Command(BaseCommand):
    """Adopt all jobs of a region that may run here, in slices; it may be run again."""

    help = "Enqueue the waiting jobs of a lost region in this region. Pinned jobs are left out."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the region, the queue and the mode."""
        parser.add_argument("region", help="the lost region")
        parser.add_argument("--queue", help="jobs of this queue only")
        parser.add_argument("--dry-run", action="store_true", help="only count the jobs")
        parser.add_argument(
            "--force", action="store_true", help="adopt even if the region may be up"
        )
        parser.add_argument("--reason", help="reason for the audit log")
        parser.add_argument("--slice", type=int, default=MOST, help="jobs per slice")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Adopt jobs and print the counts."""
        if not 1 <= options["slice"] <= MOST:
            raise CommandError(f"--slice must be from 1 to {MOST}")
        if options["queue"] is not None and not QUEUE_PATTERN.fullmatch(options["queue"]):
            raise CommandError(f"{options['queue']!r} is not a valid queue name")
        order = Order(
            options["region"], options["queue"], options["slice"],
            dry_run=options["dry_run"], force=options["force"], reason=options["reason"],
        )  # fmt: skip
        try:
            self._adopt(order)
        except OJSError as problem:
            raise CommandError(problem.message) from problem

    def _adopt(self, order: Order) -> None:
        caller, total = Caller("manage.py"), Counter[str]()
        while True:
            report = adopt(order, caller)
            total += Counter(adopted=report.adopted, known=report.known, refused=report.refused)
            total += report.kept
            for one in report.refusals:
                self.stderr.write(f"{one['job_id']}  {one['code']}: {one['message']}")
            if report.next is None:
                break
            order = replace(order, after=report.next)
        verb = "would adopt" if order.dry_run else "adopted"
        self.stdout.write(f"{verb} {total['adopted']} jobs of {order.region}")
        for name in ("known", *WHY_NOT, "refused"):
            if total[name]:
                self.stdout.write(f"  {name}: {total[name]}")
