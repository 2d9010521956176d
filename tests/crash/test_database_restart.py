"""PostgreSQL stopped as in a crash and started again, under load."""

import signal

import httpx
import pytest

from jobs.domain.wire.ids import new_id
from ojs_project.postgres import Cluster
from tests.conftest import wait_until_healthy
from tests.crash.conftest import Run, Store, serve
from tests.crash.load import PATIENCE_S, Load
from tests.processes import DEADLINE_S, until

pytestmark = pytest.mark.xdist_group("crash")

COMPLETED = 6
REQUESTS = (
    ("POST", "/ojs/v1/jobs", {"type": "crash.test", "args": []}),
    ("GET", f"/ojs/v1/jobs/{new_id()}", None),
    ("DELETE", f"/ojs/v1/jobs/{new_id()}", None),
    ("POST", "/ojs/v1/workers/fetch", {"queues": ["remote"]}),
    ("POST", "/ojs/v1/workers/ack", {"job_id": new_id()}),
    ("POST", "/ojs/v1/workers/nack", {"job_id": new_id(), "error": {"code": "x"}}),
    ("POST", "/ojs/v1/workers/heartbeat", {"worker_id": "w1"}),
    ("GET", "/ojs/v1/queues", None),
    ("POST", "/ojs/v1/queues/remote/pause", None),
    ("GET", "/ojs/v1/dead-letter", None),
    ("GET", "/ojs/v1/events", None),
    ("GET", "/metrics", None),
)


def test_what_was_acknowledged_survives_a_database_crash_and_everything_goes_on(
    processes: Run, cluster: Cluster
) -> None:
    url, _ = serve(processes, cluster.url)
    worker = processes(
        cluster.url, "manage.py", "runworker", DJANGO_SETTINGS_MODULE="tests.jobs.worker.settings"
    )
    wait_until_healthy(url)
    store = Store(cluster.url)

    with Load(url, may_disconnect=False) as load:
        load.produce(2, "remote", "crash.test")
        load.produce(2, "tests", "tests.echo")
        load.work(2, "remote")
        for _ in range(2):
            enough = len(load.journal.completed) + 50
            until(lambda enough=enough: len(load.journal.completed) >= enough, "load")  # type: ignore[misc]
            cluster.stop(immediately=True)
            check_answers_without_database(url)
            cluster.start()
            wait_until_healthy(url)
        load.stop_producing()
        stored, acked = set(load.journal.stored), set(load.journal.completed)
        until(lambda: stored <= store.jobs(COMPLETED), "the end of every job")
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(DEADLINE_S) == 0  # the same process, reconnected
    assert load.journal.problems == []
    assert load.journal.refusals.total() > 0
    assert load.journal.stored <= store.jobs()
    assert acked <= store.jobs(COMPLETED)
    assert store.misplaced() == []


def check_answers_without_database(url: str) -> None:
    """Send twice as many requests as threads may hold a connection; each answer must be a 503."""
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        for method, path, body in REQUESTS * 2:
            answer = client.request(method, path, json=body)
            assert (path, answer.status_code) == (path, 503)
            assert answer.headers["Content-Type"] == "application/openjobspec+json"
            assert answer.json()["error"]["code"] == "backend_unavailable"
            assert answer.json()["error"]["retryable"] is True
        health = client.get("/ojs/v1/health")
        assert (health.status_code, health.json()["backend"]["status"]) == (503, "unhealthy")
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
        assert client.get("/livez").status_code == 200
        assert client.get("/ojs/manifest").status_code == 200
