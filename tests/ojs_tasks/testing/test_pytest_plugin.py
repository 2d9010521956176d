"""The fixtures of the pytest plugin."""

import subprocess
import sys
from pathlib import Path

import pytest

from ojs_tasks import job
from ojs_tasks.pytest_plugin import Jobs, ojs_jobs, ojs_run_now
from tests.conftest import ROOT
from tests.docs.conftest import make_host, project, started  # noqa: F401 - for `project`
from tests.docs.host import Host
from tests.package.conftest import full_python, once, wheel  # noqa: F401 - for `project`

__all__ = ["ojs_jobs", "ojs_run_now", "project"]  # fixtures, as an installed package provides them

IN_DATABASE = """
from jobs.models import Job
from ojs_tasks import job

@job("mail.send")
def send(address: str) -> str:
    return address.upper()

def test_the_fixture_opens_the_database(ojs_jobs):
    handle = send.enqueue("ada")
    assert str(Job.objects.get().pk) == handle.id
    (run,) = ojs_jobs.run_available()
    assert run.result == "ADA"
"""

PROJECT = """
import sys
import pytest
from ojs_tasks import NoServer, job

@job("mail.send", queue="mail")
def send(address: str) -> str:
    return address.upper()

def test_jobs_run_in_memory(ojs_jobs):
    send.enqueue("ada")
    ojs_jobs.assert_enqueued(send, args=["ada"])
    (run,) = ojs_jobs.run_available()
    assert run.result == "ADA"

def test_each_test_begins_without_jobs(ojs_run_now):
    ojs_run_now.assert_not_enqueued()
    assert send.enqueue("bob").result() == "BOB"

def test_other_tests_have_no_server():
    with pytest.raises(NoServer):
        send.enqueue("bob")

def test_nothing_of_the_server_is_imported():
    assert not {"jobs", "httpx", "psycopg"} & set(sys.modules)
"""
UNUSED = """
import sys

def test_nothing_is_imported():
    assert not {"django", "ojs_tasks.testing"} & set(sys.modules)
"""


def test_the_fixture_opens_the_database(ojs_jobs: Jobs) -> None:
    @job("a.one")
    def one() -> int:
        return 1

    one.enqueue()

    ojs_jobs.assert_enqueued(one)
    assert [run.result for run in ojs_jobs.run_available()] == [1]


def test_the_other_fixture_runs_each_job_at_its_enqueue(ojs_run_now: Jobs) -> None:
    @job("a.one")
    def one() -> int:
        return 1

    assert one.enqueue().result() == 1


APPS = """
INSTALLED_APPS += ["django.contrib.postgres", "rest_framework", "jobs.apps.JobsConfig"]
"""


def test_the_database_of_a_project_is_made_for_the_fixture(project: Host) -> None:
    with (project.folder / "config/settings.py").open("a") as settings:
        settings.write(APPS)
    (project.folder / "test_project.py").write_text(IN_DATABASE)

    done = subprocess.run(
        [project.python, "-m", "pytest", "-q", "test_project.py"],
        cwd=project.folder, capture_output=True, text=True, check=False,
        env=dict(project.environment),
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", [PROJECT, UNUSED], ids=["used", "unused"])
def test_a_project_without_django_can_use_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "test_project.py").write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "ojs_tasks.pytest_plugin",
         "-p", "no:django", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path,
         tmp_path],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
