"""manage.py forget_copies: remove the copies of jobs of a region that never comes back."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from federation.services.replication.forget_region import MOST, Order, forget_copies
from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError


class Command(BaseCommand):
    """Remove all copies of a region, in slices; it may be run again."""

    help = "Remove the copies of jobs of a region that is no longer registered."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the region and the mode."""
        parser.add_argument("region", help="the removed region")
        parser.add_argument("--dry-run", action="store_true", help="only count the copies")
        parser.add_argument("--reason", help="reason for the audit log")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Remove copies and print the count."""
        order = Order(options["region"], MOST, dry_run=options["dry_run"], reason=options["reason"])
        try:
            self._forget(order)
        except OJSError as problem:
            raise CommandError(problem.message) from problem

    def _forget(self, order: Order) -> None:
        caller, total = Caller("manage.py"), 0
        while True:
            found = forget_copies(order, caller)
            total += found.removed
            if found.is_done or order.dry_run:
                break
        verb = "would remove" if order.dry_run else "removed"
        more = "" if found.is_done else " or more"
        self.stdout.write(f"{verb} {total}{more} copies of {order.region}")
