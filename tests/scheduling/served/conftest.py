"""A client of the real server, which runs two processes and its loops."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.processes import DEADLINE_S

BATCH = 100  # jobs per enqueue


class Served:
    """Requests of producers, workers and operators over HTTP; threads may share it."""

    def __init__(self, url: str) -> None:
        """Use the server at this URL."""
        self._client = httpx.Client(base_url=f"{url}/ojs/v1/", timeout=DEADLINE_S)

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send a request, check its status, and return the body of the answer, if any."""
        answer = self._client.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def put(self, name: str, *queues: str, **body: Any) -> Any:
        """Define a new pool."""
        sent = {"queues": list(queues), **body} if queues else body
        return self.send("PUT", f"admin/pools/{name}", sent, 201)

    def fill(self, **numbers: int) -> list[str]:
        """Enqueue a number of jobs in each queue; return their ids."""
        ids: list[str] = []
        for queue, number in numbers.items():
            job = {"type": "tests.noop", "args": [], "options": {"queue": queue}}
            for done in range(0, number, BATCH):
                jobs = [job] * min(BATCH, number - done)
                stored = self.send("POST", "jobs/batch", {"jobs": jobs}, 201)["jobs"]
                ids += [one["id"] for one in stored]
        return ids

    def fetch(self, count: int = 1, **body: Any) -> list[dict[str, Any]]:
        """Fetch and return the jobs."""
        found: list[dict[str, Any]] = self.send(
            "POST", "workers/fetch", {"count": count, **body}
        )["jobs"]  # fmt: skip
        return found

    def queue_order(self, count: int = 1, **body: Any) -> str:
        """Fetch and return the names of the queues, in order."""
        return "".join(job["queue"] for job in self.fetch(count, **body))

    def one_by_one(self, number: int, **body: Any) -> str:
        """Fetch `number` times, one job each."""
        return "".join(self.queue_order(1, **body) for _ in range(number))

    def ack(self, job: dict[str, Any], worker_id: str | None = None) -> None:
        """Complete a job."""
        sent = {"job_id": job["id"], **({"worker_id": worker_id} if worker_id else {})}
        self.send("POST", "workers/ack", sent)

    def state(self, job_id: str) -> str:
        """Return the state of a job."""
        return str(self.send("GET", f"jobs/{job_id}")["job"]["state"])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@pytest.fixture
def served(server: str, store: None) -> Iterator[Served]:
    """Return a client of the server, with an empty store."""
    client = Served(server)
    yield client
    client.close()
