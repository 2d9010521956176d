"""GET /ojs/v1/events. Spec: contract 12.3 to 12.5, D47."""

from typing import Any

from rest_framework.request import Request

from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.paging import QUERY, page
from jobs.api.schemas import BOOLEAN, ID, OBJECT, TIME, array, component, maybe, obj, text
from jobs.domain.errors import InvalidRequest
from jobs.domain.events import Kind
from jobs.domain.ids import is_id
from jobs.domain.states import state_of
from jobs.domain.times import format_time
from jobs.services.events import EventFilter, StoredEvent, event_name, events

MAX_EVENTS = 1000
DEFAULT_EVENTS = 100
SOURCE = "ojs://ojs-django/server"

EVENT = component(
    "Event",
    obj(
        {
            "specversion": {"const": "1.0"},
            "id": text(1),
            "type": text(1),
            "event": text(1),
            "source": text(1),
            "subject": maybe(text()),
            "time": TIME,
            "timestamp": TIME,
            "datacontenttype": {"const": "application/json"},
            "data": OBJECT,
        }
    ),
)
LIST = obj(
    {"events": array(EVENT), "items": array(EVENT), "has_more": BOOLEAN}, {"cursor": text(1)}
)
NAMES = {**text(), "description": "Comma-separated; types may end in `*`"}
FILTER = {
    **dict.fromkeys(("types", "type", "queues", "queue", "job_types", "job_type"), NAMES),
    "job_id": ID,
    "after": {**text(), "description": "An event id: the events after it, oldest first"},
    **{name: QUERY[name] for name in ("limit", "per_page")},
}


class EventCollection(OJSView):
    """Read the event record by polling."""

    scopes = {"GET": "ojs:data:read"}

    @operation("listEvents", {200: LIST}, query=FILTER)
    def get(self, request: Request) -> Answer:
        """List events: the latest first, or those after an id in order."""
        query = request.query_params
        after = query.get("after")
        wanted = EventFilter(
            types=_names(request, "types", "type"),
            queues=_names(request, "queues", "queue"),
            job_types=_names(request, "job_types", "job_type"),
            job_id=_job_id(query.get("job_id")),
            tenant=self.principal.tenant,
        )
        limit = page(request, default=DEFAULT_EVENTS, most=MAX_EVENTS).limit
        found, has_more = events(wanted, after=after, limit=limit)
        shown = [encode_event(event) for event in found]
        answer: dict[str, Any] = {"events": shown, "items": shown, "has_more": has_more}
        newest = found[-1 if after else 0].id if found else after
        if newest:
            answer["cursor"] = newest
        return Answer(answer)


def _names(request: Request, *parameters: str) -> tuple[str, ...]:
    texts = [text for name in parameters for text in request.query_params.getlist(name)]
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())


def _job_id(raw: str | None) -> str | None:
    if raw is not None and not is_id(raw):
        raise InvalidRequest.field("job_id", "is not a job id", raw[:100])
    return raw


def encode_event(event: StoredEvent) -> dict[str, Any]:
    """Encode an event with the names of both vocabularies. Spec: D47."""
    name, at = event_name(event), format_time(event.at)
    return {
        "specversion": "1.0",
        "id": event.id,
        "type": name,
        "event": name,
        "source": SOURCE,
        "subject": event.job_id or event.queue or event.worker_id,
        "time": at,
        "timestamp": at,
        "datacontenttype": "application/json",
        "data": _data(event),
    }


def _data(event: StoredEvent) -> dict[str, Any]:
    shown: dict[str, Any] = {}
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
        "tenant_id": event.tenant_id,
        "duration_ms": event.took_ms if event.kind in {Kind.COMPLETED, Kind.FAILED} else None,
        "wait_ms": event.took_ms if event.kind is Kind.STARTED else None,
    }
    shown.update((name, value) for name, value in optional.items() if value is not None)
    return _by_kind(event, shown | event.data)


def _by_kind(event: StoredEvent, shown: dict[str, Any]) -> dict[str, Any]:
    if event.kind is Kind.ENQUEUED:
        shown.setdefault("priority", 0)
    elif event.kind is Kind.CANCELLED and event.from_state is not None:
        shown["previous_state"] = state_of(event.from_state).value
    elif event.kind is Kind.FAILED:
        shown["state"] = "active"
    elif event.kind is Kind.DISCARDED:
        shown |= {"total_attempts": event.attempt, "last_error": shown.get("error")}
    return shown
