"""Versions over HTTP."""

from typing import Any

from tests.tenancy.wire import answer, send

TYPE = "invoice.generate"


def push(version: Any = None, /, *, status: int = 201, **job: Any) -> dict[str, Any]:
    """Enqueue one job of TYPE and return it, or the error."""
    sent: dict[str, Any] = {"type": TYPE, "args": [], **job}
    if version is not None:
        sent["version"] = version
    found = answer(send("POST", "jobs", sent), status)
    shown: dict[str, Any] = found["job"] if status == 201 else found["error"]
    return shown


def beat(worker: str, handlers: Any = None, /, *, status: int = 200, **more: Any) -> dict[str, Any]:
    """Send a heartbeat, with the worker's declaration unless it is None."""
    body = {"worker_id": worker, **more} | ({} if handlers is None else {"handlers": handlers})
    found: dict[str, Any] = answer(send("POST", "workers/heartbeat", body), status)
    return found


def declares(worker: str, versions: str, /, **more: Any) -> None:
    """Let a worker handle these versions of TYPE."""
    beat(worker, [{"type": TYPE, "versions": versions}], **more)


def fetched(worker: str | None = None, /, count: int = 10, **more: Any) -> list[dict[str, Any]]:
    """Fetch from the default queue and return the jobs."""
    body = {"queues": ["default"], "count": count, **more}
    if worker is not None:
        body["worker_id"] = worker
    found: list[dict[str, Any]] = answer(send("POST", "workers/fetch", body))["jobs"]
    return found


def versions_of(jobs: list[dict[str, Any]]) -> list[Any]:
    """Return the versions of jobs, or None for a job without a version."""
    return [job.get("version") for job in jobs]
