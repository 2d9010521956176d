"""Settings as a process reads them."""

import json
import subprocess
import sys

from tests.conftest import ROOT
from tests.project.conftest import clean_environment


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with none of our variables but `environment`; warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_migrations_match_the_models_and_a_build_needs_no_database() -> None:
    done = run(
        "manage.py", "makemigrations", "--check", "--dry-run", "--skip-checks", OJS_BUILD="true"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "No changes detected\n", "")


def test_the_application_starts_without_a_warning() -> None:
    done = run("-c", "import ojs_project.wsgi", OJS_SECRET_KEY="x" * 50)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_secret_key_stops_the_start() -> None:
    done = run("manage.py", "check")

    assert done.returncode != 0
    assert "set OJS_SECRET_KEY (or OJS_SECRET_KEY_FILE)" in done.stderr


def test_access_without_keys_must_be_allowed_by_name() -> None:
    done = run("manage.py", "check", "--tag", "ojs", OJS_SECRET_KEY="x" * 50, OJS_AUTH="off")

    assert done.returncode != 0
    assert "ojs.E003" in done.stderr


def test_a_number_that_is_none_is_refused_by_name() -> None:
    done = run("manage.py", "check", OJS_SECRET_KEY="x" * 50, OJS_MAX_BATCH="many")

    assert done.returncode != 0
    assert "OJS_MAX_BATCH is 'many': use a whole number" in done.stderr


def test_loggers_write_one_json_object_per_line() -> None:
    code = (
        "import logging, django; django.setup();"
        "log = logging.getLogger('ojs.test');"
        "log.info('jobs.promoted', extra={'count': 3});"
        "log.critical('over')"
    )
    done = run(
        "-c", code, OJS_SECRET_KEY="x" * 50, OJS_LOG_FORMAT="json",
        DJANGO_SETTINGS_MODULE="ojs_project.settings",
    )  # fmt: skip

    first, second = map(json.loads, done.stdout.splitlines())
    assert first["message"] == "jobs.promoted"
    assert (first["severity"], first["severity_number"]) == ("INFO", 9)
    assert first["attributes"] == {"count": 3}
    assert first["timestamp"].endswith("Z")
    assert (second["severity"], second["severity_number"]) == ("FATAL", 21)


DATABASES = """
import django, json
from django.conf import settings
print(json.dumps(settings.DATABASES))
print(json.dumps(settings.OJS))
"""


def test_a_pooler_gets_no_prepared_statements_and_workers_go_past_it() -> None:
    done = run(
        "-c", DATABASES, OJS_SECRET_KEY="x" * 50, DJANGO_SETTINGS_MODULE="ojs_project.settings",
        DATABASE_URL="postgresql://ojs@pooler:6432/ojs", OJS_POOLER="true",
        OJS_DIRECT_DATABASE_URL="postgresql://ojs@db:5432/ojs", OJS_MAX_BATCH="7",
        OJS_EXTENSIONS="a.B, c.D",
    )  # fmt: skip

    databases, ojs = map(json.loads, done.stdout.splitlines())
    pooled, direct = databases["default"], databases["direct"]
    assert (pooled["HOST"], "prepare_threshold" in pooled["OPTIONS"]) == ("pooler", False)
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert (direct["HOST"], direct["OPTIONS"]["prepare_threshold"]) == ("db", 2)
    assert ojs == {
        "DIRECT_DATABASE": "direct", "MAX_BATCH": 7, "EXTENSIONS": ["a.B", "c.D"],
    }  # fmt: skip
