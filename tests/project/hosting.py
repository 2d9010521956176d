"""A host project: a Django project of its own that has installed these apps."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection

from tests.conftest import ROOT
from tests.project.conftest import clean_environment

MANAGE = """
import os, sys
from django.core.management import execute_from_command_line
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "host_settings")
execute_from_command_line(sys.argv)
"""
SETTINGS = """
import json
from pathlib import Path
globals().update(json.loads((Path(__file__).parent / "settings.json").read_text()))
"""
HANDLERS = """
from jobs.handlers import current_job, job

@job("mail.send", queue="mail")
def send_mail(address: str, *, subject: str = "") -> dict[str, str]:
    return {"to": address, "about": subject}
"""
OF_DJANGO = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
    "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles",
    "django.contrib.postgres",
]  # fmt: skip
CORE = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.postgres",
    "rest_framework", "jobs.apps.JobsConfig",
]  # fmt: skip
ALL = [
    *OF_DJANGO, "rest_framework", "django_prometheus", "drf_spectacular", "drf_spectacular_sidecar",
    "django_q", "jobs.apps.JobsConfig", "tenancy.apps.TenancyConfig",
    "scheduling.apps.SchedulingConfig", "versioning.apps.VersioningConfig",
    "federation.apps.FederationConfig", "workflows.apps.WorkflowsConfig",
    "webhooks.apps.WebhooksConfig", "durable.apps.DurableConfig",
    "encryption.apps.EncryptionConfig",
    "attention.apps.AttentionConfig",
    "console.apps.ConsoleConfig",
]  # fmt: skip
EXTENSIONS = [
    "federation.extension.Federation", "scheduling.extension.Cron",
    "scheduling.extension.FairScheduling", "versioning.extension.Versioning",
    "tenancy.extension.Tenancy", "workflows.extension.WorkflowsExtension",
    "webhooks.extension.WebhooksExtension", "durable.extension.Durable",
    "encryption.extension.Encryption",
    "attention.extension.AttentionExtension",
]  # fmt: skip
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [str(ROOT / "templates")],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


@dataclass
class Host:
    """The folder of a project with an app `shop`; `run` runs Python in it."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def make(self, urls: str = "urlpatterns = []", **settings: Any) -> "Host":
        """Write the project, with these settings besides the common ones."""
        self.settings = {
            "SECRET_KEY": "x" * 50, "ROOT_URLCONF": "host_urls", "USE_TZ": True,
            "ALLOWED_HOSTS": ["testserver"], "STATIC_URL": "/static/",
            "MIDDLEWARE": MIDDLEWARE, "TEMPLATES": TEMPLATES,
            "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
            "Q_CLUSTER": {"orm": "default", "timeout": 60, "retry": 180}, **settings,
        }  # fmt: skip
        self.write("manage.py", MANAGE)
        self.write("host_settings.py", SETTINGS)
        self.write("settings.json", json.dumps(self.settings))
        self.write("host_urls.py", urls)
        self.write("shop/__init__.py", "")
        self.write("shop/ojs_jobs.py", HANDLERS)
        return self

    def start(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run Python with these arguments in the project, and wait for its end."""
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, capture_output=True, text=True,
            env={**clean_environment(), "PYTHONPATH": f"{self.folder}:{ROOT}",
                 "DJANGO_SETTINGS_MODULE": "host_settings"},
            check=False,
        )  # fmt: skip

    def run(self, *arguments: str) -> str:
        """Run Python in the project, and return what it prints. It must succeed."""
        done = self.start(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def database(name: str, **more: Any) -> dict[str, Any]:
    """Return the settings of a database of the test cluster."""
    facts = connection.settings_dict
    return {
        "ENGINE": "django.db.backends.postgresql", "NAME": name, "USER": facts["USER"],
        "HOST": facts["HOST"], "PORT": facts["PORT"], **more,
    }  # fmt: skip


@contextmanager
def databases(*suffixes: str) -> Iterator[Mapping[str, dict[str, Any]]]:
    """Make databases in the test cluster, one for each suffix; drop them at the end."""
    names = {suffix: f"{connection.settings_dict['NAME']}_{suffix}" for suffix in suffixes}
    with connection.cursor() as cursor:
        for name in names.values():
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        try:
            yield {suffix: database(name) for suffix, name in names.items()}
        finally:
            for name in names.values():
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
