"""A host project in which the code blocks of the manual run.

`make` is the only place that knows where the server's code comes from.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import ROOT
from tests.project.conftest import clean_environment

FILES: Final = {
    "manage.py": """\
import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
execute_from_command_line(sys.argv)
""",
    "config/__init__.py": "",
    "config/settings.py": """\
import os

SECRET_KEY = "x" * 50
DEBUG = True
ALLOWED_HOSTS = ["*"]
USE_TZ = True
ROOT_URLCONF = "config.urls"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.postgres",
    "rest_framework",
    "jobs.apps.JobsConfig",
    "shop",
]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
}
""",
    "config/urls.py": """\
from django.urls import include, path

urlpatterns = [path("", include("jobs.api.urls"))]
""",
    "shop/__init__.py": "",
}


@dataclass(frozen=True, slots=True)
class Host:
    """A project's folder, and the environment of its processes."""

    folder: Path
    environment: Mapping[str, str]
    python: str


def make(folder: Path, database: Mapping[str, str]) -> Host:
    """Write an empty project that has the app `jobs`.

    `database` has the variables of libpq: PGHOST, PGUSER and PGDATABASE.
    """
    for path, text in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    programs = Path(sys.executable).parent
    environment = {
        **clean_environment(),
        **database,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    return Host(folder, environment, sys.executable)
