"""The core app in another Django project, as docs/handlers.md describes it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from tests.conftest import ROOT
from tests.project.conftest import clean_environment

FILES = {
    "manage.py": """
import os, sys
from django.core.management import execute_from_command_line
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop_settings")
execute_from_command_line(sys.argv)
""",
    "shop_settings.py": """
SECRET_KEY = "x" * 50
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.postgres",
    "rest_framework",
    "jobs.apps.JobsConfig",
    "shop",
]
DATABASES = {{
    "default": {{
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "{name}", "USER": "{user}", "HOST": "{host}", "PORT": "{port}",
    }}
}}
ROOT_URLCONF = "shop_urls"
USE_TZ = True
ALLOWED_HOSTS = ["testserver"]
OJS = {{"MAX_BATCH": 100}}
""",
    "shop_urls.py": """
from django.urls import include, path
urlpatterns = [path("", include("jobs.api.urls"))]
""",
    "shop/__init__.py": "",
    "shop/ojs_jobs.py": """
from ojs_tasks import job

@job("mail.send", queue="mail")
def send_mail(address: str, *, subject: str = "") -> dict[str, str]:
    return {{"to": address, "about": subject}}
""",
}
USE = """
import django; django.setup()
from django.test import Client
from shop.ojs_jobs import send_mail
job = send_mail.enqueue("ada@example.org", subject="News")
answer = Client().get("/ojs/manifest")
assert answer.json()["limits"]["max_batch_size"] == 100, answer.content
print(job.id)
"""
LOOK = """
import sys, django; django.setup()
from jobs.services.read.show import show
job = show(sys.argv[1])
print(job.state, job.result)
"""

Run = Callable[..., str]


@pytest.fixture
def shop(django_db_setup: None, django_db_blocker: object, tmp_path: Path) -> Run:
    """Return a function that runs Python in a project on a new database."""
    facts = connection.settings_dict
    name = f"{facts['NAME']}_shop"
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(
            text.format(name=name, user=facts["USER"], host=facts["HOST"], port=facts["PORT"])
        )

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True,
            env={**clean_environment(), "PYTHONPATH": str(ROOT),
                 "DJANGO_SETTINGS_MODULE": "shop_settings"},
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def database(store: None) -> object:
    """Create the project's database and drop it afterwards."""
    name = f"{connection.settings_dict['NAME']}_shop"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        yield
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.usefixtures("database")
def test_a_project_enqueues_and_runs_its_own_jobs(shop: Run) -> None:
    shop("manage.py", "check")
    shop("manage.py", "migrate", "--verbosity", "0")
    assert shop("manage.py", "makemigrations", "--check", "--dry-run") == "No changes detected\n"

    job_id = shop("-c", USE).strip()
    shop("manage.py", "runworker", "--once")

    assert shop("-c", LOOK, job_id).strip() == ('6 {"to": "ada@example.org", "about": "News"}')
