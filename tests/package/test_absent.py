"""A part whose extra is not installed names the extra in one line."""

from pathlib import Path

import pytest

from tests.package.host import Host

SETTINGS = """
SECRET_KEY = "x" * 50
INSTALLED_APPS = [
    "django.contrib.contenttypes", "django.contrib.auth", "django.contrib.postgres",
    "rest_framework", "jobs.apps.JobsConfig", "scheduling.apps.SchedulingConfig",
]
ROOT_URLCONF = "jobs.api.urls"
ALLOWED_HOSTS = ["testserver"]
DATABASES = {"default": {"ENGINE": "django.db.backends.dummy"}}
OJS = {"AUTH": "off", "ALLOW_INSECURE": True}
"""
DOCUMENT = """
import django; django.setup()
from jobs.api.server.docs import document
document()
"""
SERVER, CONSOLE = 'pip install "ojs-django[server', 'pip install "ojs-django[console]"'


@pytest.fixture
def host(tmp_path: Path, core_python: Path) -> Host:
    """Return a project without a database."""
    made = Host(tmp_path, core_python)
    made.write("config/__init__.py", "")
    made.write("config/settings.py", SETTINGS)
    return made


@pytest.mark.parametrize(
    ("settings", "arguments", "says"),
    [
        ("", ("-m", "ojs_project", "check"), SERVER),
        ("", ("-c", "import ojs_project.settings"), SERVER),
        ("", ("-c", "from ojs_project.postgres import bin_dir; bin_dir()"), "[embedded]"),
        ("", ("-c", DOCUMENT), SERVER),
        ('INSTALLED_APPS += ["console.apps.ConsoleConfig"]', ("-m", "django", "check"), CONSOLE),
        ('OJS["APIKEY_HASHER"] = "argon2"', ("-m", "django", "check", "-t", "ojs"), SERVER),
        ("", ("-m", "django", "simulate_scheduling", "--minutes", "5", "--skip-checks"), CONSOLE),
    ],
    ids=["command", "settings", "postgres", "document", "console", "argon2", "simulation"],
)
def test_a_part_without_its_extra_names_the_extra(
    host: Host, settings: str, arguments: tuple[str, ...], says: str
) -> None:
    host.add_settings(settings)

    done = host.try_to_run(*arguments)

    assert done.returncode != 0
    assert "ModuleNotFoundError" not in done.stderr
    assert sum(says in line for line in done.stderr.splitlines()) == 1, done.stderr
