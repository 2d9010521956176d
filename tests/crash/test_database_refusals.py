"""A full disk, a read-only server and an outage: responses, health and the log."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ojs_project.postgres import Cluster
from tests.conftest import ROOT, wait_until_answering, wait_until_healthy
from tests.crash.conftest import Run, serve
from tests.crash.database_faults import PROMISE_S, read_only, refusing, stopped
from tests.processes import until

pytestmark = pytest.mark.xdist_group("crash")

JOB = {"type": "crash.test", "args": []}
FLOW = {"type": "group", "jobs": [JOB, JOB]}


def post(url: str, path: str, body: object) -> httpx.Response:
    """Send one request."""
    return httpx.post(f"{url}{path}", json=body, timeout=PROMISE_S)


def health(url: str) -> tuple[int, str]:
    """Return the HTTP status and the status word of the health path."""
    answer = httpx.get(f"{url}/ojs/v1/health", timeout=PROMISE_S)
    return answer.status_code, answer.json()["status"]


@pytest.mark.long
def test_a_full_disk_and_a_read_only_server_are_answered_by_503_and_told_by_health(
    processes: Run, cluster: Cluster
) -> None:
    url, _ = serve(processes, cluster.url)
    processes(cluster.url, "manage.py", "runworker", "--no-handlers")
    wait_until_healthy(url)

    with refusing(cluster.url, "53100", "ojs_event", "ojs_job"):
        for path, body in (("/ojs/v1/jobs", JOB), ("/ojs/v1/workflows", FLOW)):
            answer = post(url, path, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (
                503, "backend_unavailable",
            )  # fmt: skip
            assert "Retry-After" in answer.headers

        # only the process that met the refusal reports it; either process may answer
        def is_told() -> bool:
            post(url, "/ojs/v1/jobs", JOB)
            return health(url) == (200, "degraded")

        until(is_told, "health of a full disk")
    until(lambda: post(url, "/ojs/v1/jobs", JOB).status_code == 201, "an enqueue")

    with read_only(cluster.url):
        until(lambda: health(url)[0] == 503, "health of a read-only server")
        answer = post(url, "/ojs/v1/jobs", JOB)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "backend_unavailable")
    until(lambda: post(url, "/ojs/v1/jobs", JOB).status_code == 201, "an enqueue")
    wait_until_healthy(url)


@pytest.mark.long
def test_an_outage_has_few_lines_in_the_log_of_runworker(
    processes: Run, cluster: Cluster, tmp_path: Path
) -> None:
    url, _ = serve(processes, cluster.url)
    log = tmp_path / "log"
    with log.open("w") as written:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "runworker"],
            cwd=ROOT, stdout=written, stderr=written, start_new_session=True,
            env={
                **os.environ, "DATABASE_URL": cluster.url, "OJS_LOG_STREAM": "stdout",
                "DJANGO_SETTINGS_MODULE": "tests.jobs.worker.settings",
            },
        )  # fmt: skip
        try:
            wait_until_healthy(url)
            before = len(log.read_text().splitlines())
            with stopped(cluster):
                until(lambda: "database.lost" in log.read_text(), "a line of the outage")
                wait_until_answering(url)
            wait_until_healthy(url)
            until(lambda: "database.back" in log.read_text(), "a line of the end")
        finally:
            worker.terminate()
            worker.wait()

    told = log.read_text().splitlines()[before:]
    assert "Traceback" not in "\n".join(told)
    assert len(told) < 40, told
