"""manage.py createapikey: `ojs_apikey` in one word, for the first key of an installation."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.management.commands.ojs_apikey import add_options, create, listed, revoke, rotate


class Command(BaseCommand):
    """Make an API key and show it once."""

    help = "Create an API key, or use --list, --rotate PREFIX or --revoke PREFIX."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("name", nargs="?")
        add_options(parser)
        parser.add_argument("--list", action="store_true")
        parser.add_argument("--rotate", metavar="PREFIX")
        parser.add_argument("--grace", default="P1D", help="of a rotation: for the old secret")
        parser.add_argument("--revoke", metavar="PREFIX")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Make the key."""
        if options["list"]:
            for line in listed():
                self.stdout.write(line)
        elif options["rotate"]:
            self.stdout.write(rotate(options["rotate"], options["grace"]))
        elif options["revoke"]:
            self.stdout.write(revoke(options["revoke"]))
        elif options["name"]:
            self.stdout.write(create(options))
        else:
            raise CommandError("name the key")
