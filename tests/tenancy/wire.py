"""Tenants for the tests, over HTTP."""

from typing import Any

import orjson
from django.http import HttpResponse
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.record.events import Kind
from jobs.models import Event


def send(method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
    """Send a request to the views; header names with underscores for hyphens."""
    return Client().generic(  # type: ignore[return-value]  # a test response is one
        method,
        f"/ojs/v1/{path}",
        b"" if body is None else orjson.dumps(body),
        content_type=OJS_TYPE,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def answer(response: HttpResponse, status: int = 200) -> Any:
    """Return the body of an answer with this status."""
    assert response.status_code == status, response.content
    return orjson.loads(response.content) if response.content else None


def push(tenant: str | None = None, /, *, status: Any = 201, **job: Any) -> dict[str, Any]:
    """Enqueue one job, its tenant named in `meta`, and return the job or the error."""
    sent = {"type": "tests.noop", "args": [], **job}
    if tenant is not None:
        sent["meta"] = {**sent.get("meta", {}), "tenant_id": tenant}
    found = answer(send("POST", "jobs", sent), status)
    shown: dict[str, Any] = found["job"] if status == 201 else found["error"]
    return shown


def put(tenant: str, /, *, status: Any = 201, **body: Any) -> dict[str, Any]:
    """Configure a tenant and return the answer."""
    found: dict[str, Any] = answer(send("PUT", f"admin/tenants/{tenant}", body), status)
    return found


def event_data(kind: Kind) -> list[dict[str, Any]]:
    """Return the data of events, in order."""
    found = Event.objects.filter(kind=kind).order_by("stamp", "seq")
    return [dict(event.data or {}) for event in found]
