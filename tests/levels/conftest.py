"""A producer and a worker that use the server only over HTTP."""

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.processes import DEADLINE_S, until

NUMBERS = itertools.count()
Body = dict[str, Any]


class Wire:
    """Requests in a separate queue: other tests use the same server before and after."""

    def __init__(self, client: httpx.Client) -> None:
        """Choose names that no other test has."""
        number = next(NUMBERS)
        self.http = client
        self.queue = f"harbour-{number}"
        self.type = f"crate{number}.move"

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send a request, check its status, and return the JSON of the answer."""
        answer = self.http.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def job(self, *args: Any, **options: Any) -> Body:
        """Return the JSON that a producer sends for a job."""
        return {
            "type": options.pop("type", self.type),
            "args": list(args),
            "options": {"queue": self.queue, **options},
        }

    def push(self, *args: Any, **options: Any) -> Body:
        """Enqueue a job and return it."""
        stored: Body = self.send("POST", "/ojs/v1/jobs", self.job(*args, **options), 201)["job"]
        return stored

    def show(self, job_id: str) -> Body:
        """Return the current state of a job."""
        shown: Body = self.send("GET", f"/ojs/v1/jobs/{job_id}")["job"]
        return shown

    def fetch(self, count: int = 1, **more: Any) -> list[Body]:
        """Claim jobs."""
        asked = {"queues": [self.queue], "count": count, **more}
        jobs: list[Body] = self.send("POST", "/ojs/v1/workers/fetch", asked)["jobs"]
        return jobs

    def fetched(self, count: int = 1, **more: Any) -> list[Body]:
        """Wait until `count` jobs are available, and claim them."""
        jobs: list[Body] = []

        def is_full() -> bool:
            jobs.extend(self.fetch(count - len(jobs), **more))
            return len(jobs) == count

        until(is_full, f"{count} jobs")
        return jobs

    def ack(self, job: Body, status: int = 200, **more: Any) -> Body:
        """Complete a job."""
        told: Body = self.send("POST", "/ojs/v1/workers/ack", {"job_id": job["id"], **more}, status)
        return told

    def nack(self, job: Body, status: int = 200, **error: Any) -> Body:
        """Report a failed job."""
        body = {"job_id": job["id"], "error": {"code": "handler_error", "message": "bent", **error}}
        told: Body = self.send("POST", "/ojs/v1/workers/nack", body, status)
        return told

    def reaches(self, job_id: str, state: str) -> Body:
        """Wait until a job is in a state, and return it."""
        until(lambda: self.show(job_id)["state"] == state, state)
        return self.show(job_id)


@pytest.fixture
def wire(server: str) -> Iterator[Wire]:
    """Return a producer and worker of the real server."""
    with httpx.Client(base_url=server, timeout=DEADLINE_S) as client:
        yield Wire(client)
