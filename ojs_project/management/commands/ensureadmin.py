"""manage.py ensureadmin: the first login of the console."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from ojs_project import env

EXISTED = 3  # exit code: nothing to do


class Command(BaseCommand):
    """Make the superuser `admin` with the password in OJS_ADMIN_PASSWORD, unless there is one."""

    help = "Make the first console login."

    def handle(self, *_arguments: Any, **_options: Any) -> None:
        """Exit with 0 when the login is new, 3 when it existed."""
        if User.objects.filter(username="admin").exists():
            raise SystemExit(EXISTED)
        User.objects.create_superuser("admin", password=env.text("OJS_ADMIN_PASSWORD"))
