"""Processes of the last release and of this one on one database during an upgrade."""

from pathlib import Path

import httpx
import pytest

from jobs import VERSION
from tests.conftest import ROOT, free_port, wait_until_healthy
from tests.crash.conftest import Store
from tests.crash.load import Load
from tests.processes import until
from tests.upgrade import release
from tests.upgrade.conftest import Make, Run, firststart

pytestmark = [pytest.mark.xdist_group("upgrade"), pytest.mark.long]

COMPLETED = 6
OTHERS = ("GET", "/ojs/v1/queues"), ("GET", "/ojs/v1/workers"), ("GET", "/ojs/v1/events"), \
    ("GET", "/ojs/v1/dead-letter"), ("GET", "/ojs/v1/workflows"), ("GET", "/ojs/v1/cron"), \
    ("GET", "/ojs/v1/admin/stats"), ("GET", "/ojs/v1/admin/tenants"), ("GET", "/metrics"), \
    ("POST", "/ojs/v1/queues/side/pause"), ("POST", "/ojs/v1/queues/side/resume")  # fmt: skip


def serve(processes: Run, url: str, source: Path) -> str:
    """Start an HTTP server and a worker of one source; return the server's URL."""
    port = free_port()
    processes(
        url, source, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "1",
        "--threads", "4", "--log-level", "warning", "--config", "python:ojs_project.gunicorn",
    )  # fmt: skip
    settings = {"DJANGO_SETTINGS_MODULE": "tests.jobs.worker.settings"}
    processes(url, source, "manage.py", "runworker", **settings)
    return f"http://127.0.0.1:{port}"


def version(url: str) -> str:
    """Return the release that a server reports."""
    return str(httpx.get(f"{url}/ojs/v1/health", timeout=30).json()["version"])


def check_the_rest(url: str) -> None:
    """Send the requests that the load does not send."""
    flow = {"type": "chain", "steps": [{"type": "tests.echo", "args": [1],
                                        "options": {"queue": "tests"}}] * 2}  # fmt: skip
    with httpx.Client(base_url=url, timeout=60) as client:
        for method, path in OTHERS:
            answer = client.request(method, path)
            assert answer.status_code < 400, (path, answer.text)
        assert client.post("/ojs/v1/workflows", json=flow).status_code == 201
        unique = {"type": "tests.echo", "args": [1], "options": {
            "queue": "tests", "unique": {"keys": ["type"], "period": "PT1S"}}}  # fmt: skip
        assert client.post("/ojs/v1/jobs", json=unique).status_code in {200, 201, 409}


def made(load: Load, more: int) -> None:
    """Wait until the load has completed this number of further jobs."""
    enough = len(load.journal.completed) + more
    until(lambda: len(load.journal.completed) >= enough, "completed jobs")


def begin(load: Load) -> None:
    """Add producers and a worker to a load."""
    load.produce(1, "remote", "crash.test")
    load.produce(1, "tests", "tests.echo")
    load.work(1, "remote")
    made(load, 20)


def test_old_processes_work_on_through_an_upgrade_and_beside_new_ones(
    processes: Run, databases: Make, restored: str, source: Path
) -> None:
    database = databases(restored)
    store = Store(database)
    old = serve(processes, database, source)
    wait_until_healthy(old)

    with Load(old, may_disconnect=False) as load:
        begin(load)
        done = firststart(database)
        made(load, 20)
        check_the_rest(old)
        new = serve(processes, database, ROOT)
        wait_until_healthy(new)
        with Load(new, may_disconnect=False) as beside:
            begin(beside)
            made(load, 20)
            check_the_rest(old)
            check_the_rest(new)
            check_all_end([load, beside], store)

    assert done.returncode == 0, done.stderr
    assert [version(old), version(new)] == [release.version(), VERSION]
    assert [httpx.get(f"{url}/ready", timeout=30).status_code for url in (old, new)] == [200, 200]
    assert store.misplaced() == []


def check_all_end(loads: list[Load], store: Store) -> None:
    """Stop the producers, wait for every stored job to complete, and assert no refusals."""
    for load in loads:
        load.stop_producing()
    stored = set().union(*(load.journal.stored for load in loads))
    until(lambda: stored <= store.jobs(COMPLETED), "the end of every job")
    for load in loads:
        assert load.journal.problems == []
        assert load.journal.refusals.total() == 0
        assert load.journal.completed <= store.jobs(COMPLETED)
