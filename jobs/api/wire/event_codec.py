"""The envelope of events: in lists, streams and webhooks. Spec: contract 12.3."""

from typing import Any

from jobs.domain.record.events import Kind
from jobs.domain.states import state_of
from jobs.domain.wire.times import format_time
from jobs.models import DEFAULT_TENANT
from jobs.services.record.events import StoredEvent, event_name

SOURCE = "ojs://ojs-django/server"
SUBJECTS = ("workflow_id", "cron_name", "subscription_id", "finding_id")


def encode_event(event: StoredEvent) -> dict[str, Any]:
    """Encode an event with the names of both vocabularies. Spec: D47."""
    name, at = event_name(event), format_time(event.at)
    return {
        "specversion": "1.0",
        "id": event.id,
        "seq": event.place.number,
        "type": name,
        "event": name,
        "source": SOURCE,
        "subject": _subject(event),
        "time": at,
        "timestamp": at,
        "datacontenttype": "application/json",
        "data": _data(event),
    }


def _subject(event: StoredEvent) -> object:
    named = (event.data.get(name) for name in SUBJECTS)
    about = next(filter(None, named), None) or event.job_id or event.queue or event.worker_id
    return about or event.data.get("pool") or event.type


def _data(event: StoredEvent) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if event.type is not None:
        shown = {"job_type": event.type, "type": event.type}
    if event.job_id:
        shown = {"job_id": event.job_id, "job_type": event.type, "type": event.type}
        if event.to_state is not None:
            shown["state"] = state_of(event.to_state).value
        if event.attempt is not None:
            shown["attempt"] = event.attempt
    optional = {
        "queue": event.queue,
        "worker_id": event.worker_id,
        "trace_id": event.trace_id,
        "tenant_id": event.tenant_id or _tenant(event),
        "unique_key": event.unique_key,
        "duration_ms": event.took_ms if event.kind in {Kind.COMPLETED, Kind.FAILED} else None,
        "wait_ms": event.took_ms if event.kind == Kind.STARTED else None,
    }
    shown.update((name, value) for name, value in optional.items() if value is not None)
    return _by_kind(event, shown | event.data)


def _tenant(event: StoredEvent) -> str | None:
    return event.tenant if event.tenant != DEFAULT_TENANT else None


def _by_kind(event: StoredEvent, shown: dict[str, Any]) -> dict[str, Any]:
    if event.kind == Kind.ENQUEUED:
        shown.setdefault("priority", 0)
    elif event.kind == Kind.CANCELLED and event.from_state is not None:
        shown["previous_state"] = state_of(event.from_state).value
    elif event.kind == Kind.FAILED:
        shown["state"] = "active"
    elif event.kind in {Kind.DISCARDED, Kind.DEAD_LETTERED}:
        shown |= {"total_attempts": event.attempt, "last_error": shown.get("error")}
    elif event.kind == Kind.RETRY_EXHAUSTED:
        shown["state"] = "active"
    return shown
