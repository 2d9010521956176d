"""A stalled PostgreSQL: its kernel accepts connections and bytes, but no process answers."""

import httpx
import pytest

from ojs_project.postgres import Cluster
from tests.concurrency import at_once
from tests.conftest import wait_until_answering
from tests.crash.conftest import Run, serve
from tests.crash.database_faults import PROMISE_S, SHORT, stalled
from tests.crash.test_database_restart import REQUESTS
from tests.processes import until

pytestmark = [pytest.mark.xdist_group("crash"), pytest.mark.long]

ASKED = [one for one in REQUESTS if one[1] != "/metrics"]  # it answers from memory for a while
JOB = {"type": "crash.test", "args": []}


def ask(url: str, method: str, path: str, body: object = None) -> httpx.Response:
    """Send one request. Raises httpx.TimeoutException if no answer comes within PROMISE_S."""
    return httpx.request(method, f"{url}{path}", json=body, timeout=PROMISE_S)


def is_stored(url: str) -> bool:
    """Return whether the server stores a job."""
    return ask(url, "POST", "/ojs/v1/jobs", JOB).status_code == 201


def test_a_stalled_database_is_answered_by_503_and_the_server_recovers(
    processes: Run, cluster: Cluster
) -> None:
    url, _ = serve(processes, cluster.url, None, **SHORT)
    wait_until_answering(url)
    until(lambda: is_stored(url), "an enqueue")
    for method, path, body in ASKED:  # fill all caches before the stall
        ask(url, method, path, body)

    with stalled(cluster):
        # enough parallel requests for every request thread, and as many again that queue behind
        # them
        answers = at_once(
            [
                lambda method=method, path=path, body=body: ask(url, method, path, body)  # type: ignore[misc]
                for method, path, body in ASKED * 2
            ]
        )
        for answer in answers:
            assert answer.status_code == 503, answer.request.url
            assert answer.json()["error"]["code"] == "backend_unavailable"
            assert "Retry-After" in answer.headers
        for path in ("/ready", "/health", "/ojs/v1/health"):
            answer = ask(url, "GET", path)
            assert (path, answer.status_code) == (path, 503)
            assert "Retry-After" in answer.headers
        assert ask(url, "GET", "/ready").json()["checks"]["migrations"] == "unknown"
        assert ask(url, "GET", "/livez").status_code == 200

    until(lambda: is_stored(url), "an enqueue after the stall")
    until(lambda: ask(url, "GET", "/ready").status_code == 200, "readiness after the stall")
