"""A client of the real server that names tenants."""

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.conftest import end_all, free_port, http_server, wait_until_answering
from tests.processes import DEADLINE_S

TENANT = "X-OJS-Tenant"


class Served:
    """Requests of producers, workers and operators over HTTP; threads may share it."""

    def __init__(self, url: str) -> None:
        """Use the server at this URL."""
        self._client = httpx.Client(base_url=f"{url}/ojs/v1/", timeout=DEADLINE_S)

    def send(
        self, method: str, path: str, body: Any = None, *, tenant: str | None = None,
        status: int = 200,
    ) -> Any:  # fmt: skip
        """Send a request, check its status, and return the body of the answer, if any."""
        headers = {} if tenant is None else {TENANT: tenant}
        answer = self._client.request(method, path, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def put(self, tenant: str, status: int = 201, **body: Any) -> Any:
        """Configure a tenant."""
        return self.send("PUT", f"admin/tenants/{tenant}", body, status=status)

    def push(self, tenant: str | None, number: int = 1, queue: str = "default") -> list[str]:
        """Enqueue jobs; return their ids."""
        job = {"type": "tests.noop", "args": [], "options": {"queue": queue}}
        sent = {"jobs": [job] * number}
        found = self.send("POST", "jobs/batch", sent, tenant=tenant, status=201)["jobs"]
        return [one["id"] for one in found]

    def fetch(self, *queues: str, tenant: str | None = None, **body: Any) -> list[dict[str, Any]]:
        """Fetch and return the jobs."""
        sent = {"queues": list(queues) or ["default"], "count": 100, **body}
        found: list[dict[str, Any]] = self.send("POST", "workers/fetch", sent, tenant=tenant)[
            "jobs"
        ]
        return found

    def ack(self, job: dict[str, Any]) -> None:
        """Complete a job."""
        self.send("POST", "workers/ack", {"job_id": job["id"]})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@pytest.fixture
def served(server: str, store: None) -> Iterator[Served]:
    """Return a client of the server, with an empty store."""
    client = Served(server)
    yield client
    client.close()


def owners(jobs: list[dict[str, Any]]) -> list[str | None]:
    """Return the tenants of the jobs."""
    return [job.get("meta", {}).get("tenant_id") for job in jobs]


@pytest.fixture(scope="module")
def guarded(spawn: Callable[..., subprocess.Popen[bytes]]) -> Iterator[str]:
    """Return the URL of a server that requires API keys and runs no loops, so its state stays."""
    port = free_port()
    server = spawn(
        *http_server(port), OJS_AUTH="apikey", OJS_METRICS_PUBLIC="false",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    wait_until_answering(url)
    yield url
    end_all([server])
