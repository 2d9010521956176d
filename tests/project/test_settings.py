"""Settings as a process reads them."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.test import Client

from tests.conftest import ROOT
from tests.project.conftest import clean_environment
from tests.spec import spec


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with only these variables of the server; warnings are errors."""
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


@pytest.mark.parametrize(
    "code",
    [
        "import ojs_project.wsgi",
        "import sys; sys.argv[1:] = ['help']; import ojs_project.__main__ as m; m.main()",
    ],
    ids=["wsgi", "command"],
)
def test_a_process_that_has_loaded_all_collects_garbage(code: str) -> None:
    done = run(
        "-c", f"import gc; {code}; sys = __import__('sys'); sys.exit(0 if gc.isenabled() else 9)",
        OJS_SECRET_KEY="x" * 50,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


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
    assert first["attributes"] == {"logger": "ojs.test", "count": 3}
    assert first["component"] == "server"
    assert first["timestamp"].endswith("Z")
    assert (second["severity"], second["severity_number"]) == ("FATAL", 21)


def test_a_command_answers_on_standard_output_and_logs_elsewhere() -> None:
    code = "import logging; logging.getLogger('ojs.test').info('a line')"
    done = run("manage.py", "shell", "-v", "0", "-c", f"print('answer'); {code}",
               OJS_SECRET_KEY="x" * 50)  # fmt: skip

    assert done.stdout == "answer\n"
    assert done.stderr.endswith("INFO ojs.test a line\n")


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
        OJS_REPLICA_DATABASE_URL="postgresql://ojs@a,b:5432/ojs?target_session_attrs=standby",
        OJS_REPLICA_POOLER="true",
    )  # fmt: skip

    databases, ojs = map(json.loads, done.stdout.splitlines())
    pooled, direct = databases["default"], databases["direct"]
    assert (pooled["HOST"], "prepare_threshold" in pooled["OPTIONS"]) == ("pooler", False)
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert (direct["HOST"], direct["OPTIONS"]["prepare_threshold"]) == ("db", 2)
    replica = databases["replica"]
    assert (replica["HOST"], replica["OPTIONS"]["target_session_attrs"]) == ("a,b", "standby")
    assert "prepare_threshold" not in replica["OPTIONS"]
    assert ojs == {
        "DIRECT_DATABASE": "direct", "REPLICA_DATABASE": "replica", "MAX_BATCH": 7,
        "EXTENSIONS": [
            "federation.extension.Federation",
            "scheduling.extension.Cron", "scheduling.extension.FairScheduling",
            "versioning.extension.Versioning",
            "tenancy.extension.Tenancy", "workflows.extension.WorkflowsExtension",
            "webhooks.extension.WebhooksExtension", "durable.extension.Durable",
            "encryption.extension.Encryption",
            "attention.extension.AttentionExtension",
            "a.B", "c.D",
        ],
    }  # fmt: skip


ALIASES = [
    ("OJS_SHUTDOWN_GRACE_PERIOD", "SHUTDOWN_GRACE_MS"),
    ("OJS_WORKER_STALE_AFTER", "WORKER_SILENCE_MS"),
]


@pytest.mark.parametrize(("variable", "key"), ALIASES)
@pytest.mark.parametrize(
    ("value", "ms"), [("PT1M30S", 90_000), ("45s", 45_000), ("2m", 120_000), ("7", 7_000)]
)
@spec("GS-2", "GS-17")
def test_durations_are_read_by_the_contracts_names(
    variable: str, key: str, value: str, ms: int
) -> None:
    done = run(
        "-c", DATABASES, OJS_SECRET_KEY="x" * 50, DJANGO_SETTINGS_MODULE="ojs_project.settings",
        **{variable: value},
    )  # fmt: skip

    assert json.loads(done.stdout.splitlines()[1])[key] == ms


@pytest.mark.parametrize(("variable", "key"), ALIASES)
@pytest.mark.parametrize("value", ["soon", "0", "", "-5", "1.5"])
def test_a_duration_that_is_none_is_refused_by_name(variable: str, key: str, value: str) -> None:
    done = run("manage.py", "check", OJS_SECRET_KEY="x" * 50, **{variable: value})

    assert done.returncode != 0
    assert f"{variable} is {value!r}: use a duration" in done.stderr


@pytest.mark.parametrize(("variable", "key"), ALIASES)
def test_two_names_of_one_setting_are_refused(variable: str, key: str) -> None:
    both = {variable: "30s", f"OJS_{key}": "30000"}

    done = run("manage.py", "check", OJS_SECRET_KEY="x" * 50, **both)

    assert done.returncode != 0
    assert f"OJS_{key} is set twice" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("OJS_LOG_SAMPLE", "1.5", "OJS['LOG_SAMPLE'] is 1.5: use a number from 0 to 1"),
        ("OJS_LOG_SAMPLE", "-0.1", "OJS['LOG_SAMPLE'] is -0.1: use a number from 0 to 1"),
        ("OJS_LOG_SAMPLE", "half", "OJS_LOG_SAMPLE is 'half': use a number"),
        ("OJS_LOG_FORMAT", "xml", "OJS_LOG_FORMAT is 'xml': use one of text, json"),
        ("OJS_LOG_STREAM", "file", "OJS_LOG_STREAM is 'file': use one of stdout, stderr"),
        ("OJS_LOG_LEVEL", "LOUD", "OJS_LOG_LEVEL is 'LOUD': use one of INFO, DEBUG, WARNING"),
    ],
)
@spec("contract 32.5")
def test_a_wrong_setting_of_logs_stops_the_start(variable: str, value: str, problem: str) -> None:
    done = run(
        "manage.py", "check", OJS_SECRET_KEY="x" * 50, DATABASE_URL=os.environ["DATABASE_URL"],
        **{variable: value},
    )  # fmt: skip

    assert done.returncode != 0
    assert problem in done.stderr


@spec("contract 32.5")
def test_a_demo_has_lines_of_jobs_where_a_level_is_named() -> None:
    code = (
        "import logging, django; django.setup();"
        "print(logging.getLogger('ojs.lifecycle').getEffectiveLevel())"
    )
    demo = {"OJS_SECRET_KEY": "x" * 50, "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
            "OJS_DEMO": "true"}  # fmt: skip

    assert run("-c", code, **demo).stdout.strip() == "50"
    assert run("-c", code, **demo, OJS_LOG_LEVEL="debug").stdout.strip() == "10"


@spec("contract 31.4")
def test_an_origin_that_is_none_is_refused() -> None:
    done = run(
        "manage.py", "check", OJS_SECRET_KEY="x" * 50, OJS_CORS_ORIGINS="app.example",
        DATABASE_URL=os.environ["DATABASE_URL"],  # Django 6.1 reads it
    )  # fmt: skip

    assert done.returncode != 0
    assert "corsheaders.E013" in done.stderr


@spec("contract 31.4")
def test_the_deployment_check_is_clean_where_tls_is_required() -> None:
    done = run(
        "manage.py", "check", "--deploy", "--fail-level", "WARNING",
        OJS_SECRET_KEY="aB3-x" * 12, OJS_REQUIRE_TLS="true",
        DATABASE_URL=os.environ["DATABASE_URL"],
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


@pytest.mark.django_db
@spec("contract 31.4")
def test_pages_have_the_headers_that_the_deployment_check_asks_for(settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 86_400
    page = Client().get("/console/login/", secure=True)

    assert page.headers["Strict-Transport-Security"] == "max-age=86400"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.cookies["csrftoken"]
