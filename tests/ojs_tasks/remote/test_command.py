"""Which app provides `runworker`."""

import subprocess
import sys

import pytest

APPS = ("jobs.apps.JobsConfig", "ojs_tasks")
LOOK = """
import sys, django
from django.conf import settings
from django.core.management import get_commands, load_command_class
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", *sys.argv[1:]],
    SECRET_KEY="x" * 50, DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}},
)
django.setup()
print(type(load_command_class(get_commands()["runworker"], "runworker")).__module__)
"""
LOCAL, REMOTE = "jobs.management.commands.runworker", "ojs_tasks.management.commands.runworker"


@pytest.mark.parametrize(
    ("apps", "module"),
    [(APPS, LOCAL), (APPS[::-1], LOCAL), (APPS[:1], LOCAL), (APPS[1:], REMOTE)],
)
def test_the_order_of_the_apps_does_not_matter(apps: tuple[str, ...], module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *apps], capture_output=True, text=True, check=False
    )

    assert (done.stdout.strip(), done.returncode) == (module, 0), done.stderr
