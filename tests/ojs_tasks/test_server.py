"""Which server a process enqueues to, and what it imports for it."""

import subprocess
import sys
from pathlib import Path

from django.test import override_settings

from ojs_tasks.local.server import LocalServer
from ojs_tasks.server import is_local, server
from tests.conftest import ROOT

# a host with a package `jobs` of its own, and handlers
HOST = """
import sys
from ojs_tasks import NoServer, UnknownTerm, job

@job("mail.send", queue="mail", timeout=60, retry={"max_attempts": 5}, versions=">=1.0 <3.0")
async def send(address: str) -> None: ...

try:
    job("mail.other", countdown=5)
except UnknownTerm as problem:
    print(problem)
try:
    send.enqueue("ada@example.org")
except NoServer as problem:
    print(problem)
import jobs
print(jobs.MINE)
ours = {"console", "encryption", "federation", "ojs_project", "scheduling", "tenancy", "versioning",
        "webhooks", "workflows", "psycopg", "rest_framework", "httpx", "ojs_tasks.local"}
print(sorted(name for name in sys.modules if name in ours or name.startswith("jobs.")))
"""


def test_the_server_of_a_host_with_the_apps_is_its_database() -> None:
    assert is_local()
    assert isinstance(server(), LocalServer)
    assert server() is server()


@override_settings(OJS={}, INSTALLED_APPS=["django.contrib.contenttypes"])
def test_a_host_without_the_apps_must_name_a_server() -> None:
    assert not is_local()


@override_settings(OJS={"SERVER": "https://jobs.example.org"})
def test_a_host_with_an_address_is_not_local() -> None:
    assert not is_local()


def test_handlers_of_a_remote_host_import_nothing_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("MINE = 'of the host'")
    (tmp_path / "host.py").write_text(HOST)

    done = subprocess.run(
        [sys.executable, "host.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )  # fmt: skip

    assert done.stdout.splitlines() == [
        "job 'mail.other': 'countdown' is Celery's name: use delay=60",
        "no server for jobs: set OJS['SERVER'] to its address, or install the app 'jobs'",
        "of the host",
        "[]",
    ], done.stderr
