"""JSON as the server takes it, and jobs as handles show them."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from ojs_tasks import documents
from ojs_tasks.remote.errors import ServerRefused, ServerUnreachable
from ojs_tasks.server import Draft, Snapshot

ENDS: Final = ("completed_at", "cancelled_at", "discarded_at")  # of an envelope


def dumps(value: Any) -> bytes:
    """Serialize; integers of any size. Raises Refused for a value that JSON does not have."""
    try:
        return documents.dumps(value)
    except ValueError as problem:
        raise ServerRefused("invalid_payload", HTTPStatus.BAD_REQUEST, str(problem)) from None


def loads(body: bytes) -> Any:
    """Read a document; integers of any size. None for a body that is no JSON."""
    try:
        return documents.loads(body)
    except ValueError:
        return None


def snapshot(envelope: Any, *, deduplicated: bool = False) -> Snapshot:
    """Return a job as handles show it. Raises ServerUnreachable for an answer without a job."""
    if not isinstance(envelope, Mapping) or not isinstance(envelope.get("id"), str):
        raise ServerUnreachable("the answer of the server shows no job: is it an OJS server?")
    error = envelope.get("error")
    return Snapshot(
        id=envelope["id"],
        type=str(envelope.get("type", "")),
        queue=str(envelope.get("queue", "default")),
        state=str(envelope.get("state", "")),
        attempt=envelope.get("attempt") or 0,
        max_attempts=envelope.get("max_attempts") or 0,
        result=envelope.get("result"),
        error=error if isinstance(error, dict) else None,
        errors=tuple(envelope.get("errors") or ()),
        progress=envelope.get("progress"),
        progress_message=envelope.get("progress_message"),
        progress_data=envelope.get("progress_data"),
        meta=envelope.get("meta") or {},
        args=envelope.get("args") or (),
        priority=envelope.get("priority") or 0,
        created_at=moment(envelope.get("created_at")),
        scheduled_at=moment(envelope.get("scheduled_at")),
        started_at=moment(envelope.get("started_at")),
        finished_at=moment(next((envelope[name] for name in ENDS if name in envelope), None)),
        worker_id=envelope.get("worker_id"),
        deduplicated=deduplicated or envelope.get("deduplicated") is True,
    )


def moment(text: Any) -> datetime | None:
    """Return a time of the server; None for no text, or no time."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def of_draft(draft: Draft, state: str) -> Snapshot:
    """Return a job that the server has not shown, as its draft describes it."""
    return Snapshot(
        id=draft["id"],
        type=draft["type"],
        queue=draft.get("queue") or "default",
        state=state,
        meta=draft.get("meta") or {},
    )
