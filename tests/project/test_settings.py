"""Settings as a process reads them."""

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
    done = run("manage.py", "makemigrations", "--check", "--dry-run", OJS_BUILD="true")

    assert (done.returncode, done.stdout, done.stderr) == (0, "No changes detected\n", "")


def test_the_application_starts_without_a_warning() -> None:
    done = run("-c", "import ojs_project.wsgi", OJS_SECRET_KEY="x" * 50)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_secret_key_stops_the_start() -> None:
    done = run("manage.py", "check")

    assert done.returncode != 0
    assert "set OJS_SECRET_KEY (or OJS_SECRET_KEY_FILE)" in done.stderr


def test_access_without_keys_must_be_allowed_by_name() -> None:
    done = run("manage.py", "check", OJS_SECRET_KEY="x" * 50, OJS_AUTH="off")

    assert done.returncode != 0
    assert "ojs.E003" in done.stderr
