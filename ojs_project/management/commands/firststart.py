"""manage.py firststart: tables, the first login of the console and the first API key."""

import json
import secrets
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from jobs.domain.access.caller import Caller
from jobs.services.access.api_keys import NewKey, create, is_named
from ojs_project import env

KEY_NAME = "quickstart"


class Command(BaseCommand):
    """Migrate, make the superuser `admin` unless a superuser exists, and with --key an API key.

    The last line is a JSON object with `password` and `key`, secrets to be shown once. A member is
    null if it existed already, or if the operator chose the password by OJS_ADMIN_PASSWORD.
    """

    help = "Prepare a database for its first start; harmless when repeated."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--key", action="store_true", help=f"make the API key {KEY_NAME!r}")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Migrate, and make the missing login and key."""
        call_command("migrate", verbosity=0)
        made = {"password": _make_login(), "key": _make_key() if options["key"] else None}
        self.stdout.write(json.dumps(made))


def _make_login() -> str | None:
    if User.objects.filter(is_superuser=True).exists():
        return None
    chosen = env.text("OJS_ADMIN_PASSWORD")
    password = chosen or secrets.token_urlsafe(12)
    User.objects.create_superuser("admin", password=password)
    return None if chosen else password


def _make_key() -> str | None:
    if is_named(KEY_NAME):
        return None
    _, text = create(NewKey(KEY_NAME, ("admin",)), Caller("quickstart"))
    return text
