"""Pools for the tests, over HTTP."""

from collections import Counter
from dataclasses import replace
from typing import Any

import orjson
from django.http import HttpResponse
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.services.enqueue.enqueue import enqueue
from tests.factories import DraftFactory, stored_ids

PREVENTED = {"enabled": True, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.1}


def send(method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
    """Send a request to the views."""
    return Client().generic(  # type: ignore[return-value]  # a test response is one
        method,
        f"/ojs/v1/{path}",
        b"" if body is None else orjson.dumps(body),
        content_type=OJS_TYPE,
        headers=headers,
    )


def put(name: str, *queues: str, status: int = 201, **body: Any) -> dict[str, Any]:
    """Define a pool and return the answer."""
    sent = {"queues": list(queues), **body} if queues else body
    answer = send("PUT", f"admin/pools/{name}", sent)
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = orjson.loads(answer.content)
    return found


def get(path: str) -> dict[str, Any]:
    """Read a resource."""
    answer = send("GET", path)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = orjson.loads(answer.content)
    return found


def taken(count: int = 1, *, status: int = 200, **body: Any) -> list[dict[str, Any]]:
    """Fetch and return the jobs."""
    answer = send("POST", "workers/fetch", {"count": count, **body})
    assert answer.status_code == status, answer.content
    found: list[dict[str, Any]] = orjson.loads(answer.content).get("jobs", [])
    return found


def queue_order(count: int = 1, **body: Any) -> str:
    """Fetch and return the names of the queues, in order."""
    return "".join(job["queue"] for job in taken(count, **body))


def one_by_one(number: int, **body: Any) -> str:
    """Fetch `number` times, one job each."""
    return "".join(queue_order(1, **body) for _ in range(number))


def counts(order: str) -> dict[str, int]:
    """Count by queue."""
    return dict(Counter(order))


def fill(**numbers: int) -> dict[str, list[str]]:
    """Store a number of jobs in each queue; return their ids."""
    return {queue: stored_ids(number, queue=queue) for queue, number in numbers.items()}


def of_tenant(tenant: str, number: int, queue: str = "q", priority: int = 0) -> None:
    """Store jobs that name a tenant."""
    draft = DraftFactory.create(queue=queue, priority=priority, meta={"tenant_id": tenant})
    enqueue([
        replace(DraftFactory.create(queue=queue, priority=priority, meta=draft.meta), tenant=tenant)
        for _ in range(number)
    ])  # fmt: skip


def refused(answer: HttpResponse, status: int, code: str = "invalid_request") -> dict[str, Any]:
    """Check a refusal; return its details."""
    error: dict[str, Any] = orjson.loads(answer.content)["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.content
    details: dict[str, Any] = error["details"]
    return details
