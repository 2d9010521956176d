"""The event record as JSON. Spec: contract 12.3 to 12.5, 25.4, D47."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    ID,
    OBJECT,
    PAGINATION,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.admin import SINCE, moment
from jobs.api.wire.answer import Answer
from jobs.api.wire.event_codec import encode_event
from jobs.api.wire.paging import QUERY, page
from jobs.domain.errors import InvalidRequest, PermissionDenied
from jobs.domain.record.place import FIRST, read_place
from jobs.domain.wire.ids import is_id
from jobs.services.record.events import EventFilter, following, history, latest

MAX_EVENTS = 1000
MAX_OFFSET = 10_000  # `after` leads further back
DEFAULT_EVENTS = 100

EVENT = component(
    "Event",
    obj(
        {
            "specversion": {"const": "1.0"},
            "id": text(1),
            "seq": integer(0),
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
    {"events": array(EVENT), "items": array(EVENT), "has_more": BOOLEAN},
    {"cursor": text(1), "pagination": PAGINATION},
)
HISTORY = obj(
    {
        "job_id": ID,
        "has_more": BOOLEAN,
        "events": array(
            obj(
                {
                    "id": text(1),
                    "type": text(1),
                    "state": maybe(text(1)),
                    "timestamp": TIME,
                    "attempt": maybe(integer(0)),
                    "data": OBJECT,
                }
            )
        ),
    }
)
NAMES = {**text(), "description": "Comma-separated; types may end in `*`"}
FILTER = {
    **dict.fromkeys(
        ("types", "type", "event_types", "queues", "queue", "job_types", "job_type"), NAMES
    ),
    "job_id": ID,
    "tenant": text(),
}
LIST_QUERY = {
    **FILTER,
    "since": {**SINCE, "description": "Events from this time on, or so long ago"},
    "until": {**SINCE, "description": "Events before this time, or so long ago"},
    "after": {**text(), "description": "The id of an event: the events after it, oldest first"},
    **{name: QUERY[name] for name in ("limit", "page", "per_page", "offset")},
}


class EventCollection(OJSView):
    """Read the event record by polling."""

    @operation("listEvents", {200: LIST}, query=LIST_QUERY)
    def get(self, request: Request) -> Answer:
        """List events: the latest first, a page at a time, or those after an event in order.

        `cursor` is the newest event of the answer, for `after`. Older pages reach 10,000 events
        back; `pagination.total` counts only events that certainly exist.
        """
        wanted = event_filter(request, self.principal.tenant)
        window = page(request, default=DEFAULT_EVENTS, most=MAX_EVENTS)
        after = request.query_params.get("after")
        if after:
            place = read_place(after) or FIRST
            found, has_more = following(wanted, place, limit=window.limit)
        else:
            if window.offset > MAX_OFFSET:
                problem = f"must be at most {MAX_OFFSET}: use after, since or until"
                raise InvalidRequest.field("offset", problem, window.offset)
            found, has_more = latest(wanted, limit=window.limit, offset=window.offset)
        shown = [encode_event(event) for event in found]
        answer: dict[str, Any] = {"events": shown, "items": shown, "has_more": has_more}
        newest = found[-1 if after else 0].id if found else after
        if newest:
            answer["cursor"] = newest
        if not after:
            total = window.offset + len(found) + has_more
            answer["pagination"] = window.answer(total)
        return Answer(answer)


class JobHistory(JobDetail):
    """The events of one job."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "getJobHistory",
        {200: HISTORY},
        refusals=(404,),
        aliases={"/ojs/v1/events/{job_id}/history": "getEventHistory"},
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """List the events of a job, oldest first, at most 1,000."""
        self.visible(job_id)
        found, has_more = history(job_id, limit=MAX_EVENTS)
        events = []
        for event in found:
            shown = encode_event(event)
            data = shown["data"]
            events.append(
                {name: shown[name] for name in ("id", "type", "timestamp", "data")}
                | {"state": data.get("state"), "attempt": data.get("attempt")}
            )
        return Answer({"job_id": job_id, "events": events, "has_more": has_more})


def event_filter(request: Request, tenant: str | None) -> EventFilter:
    """Read the filter of a request. Raises InvalidRequest; PermissionDenied for another tenant."""
    query = request.query_params
    asked = query.get("tenant") or query.get("tenant_id") or None
    if tenant is not None and asked not in {None, tenant}:
        raise PermissionDenied(
            f"the credentials are bound to another tenant than {asked[:100]!r}",
            details={"reason": "tenant_mismatch", "operation": "read events"},
        )
    return EventFilter(
        types=_names(request, "types", "type", "event_types"),
        queues=_names(request, "queues", "queue"),
        job_types=_names(request, "job_types", "job_type"),
        job_id=_job_id(query.get("job_id")),
        tenant=tenant or _clean("tenant", asked),
        since=moment(request, "since"),
        until=moment(request, "until"),
    )


def _names(request: Request, *parameters: str) -> tuple[str, ...]:
    return tuple(
        part.strip()
        for name in parameters
        for text in request.query_params.getlist(name)
        for part in (_clean(name, text) or "").split(",")
        if part.strip()
    )


def _clean(name: str, text: str | None) -> str | None:
    if text and ("\x00" in text or any("\ud800" <= one <= "\udfff" for one in text)):
        raise InvalidRequest.field(name, "must be text without NUL and lone surrogates")
    return text


def _job_id(raw: str | None) -> str | None:
    if raw is not None and not is_id(raw):
        raise InvalidRequest.field("job_id", "is not a job id", raw[:100])
    return raw
