"""Server-sent events: of one job, one queue, or all visible events. Spec: contract 25.3.

A view checks access and finds the followed job or queue, in a request thread. `follow.py` runs the
stream, `frames.py` renders its bytes.
"""

from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.queues.queues import checked_name
from jobs.api.record.events import FILTER, EventCollection, event_filter
from jobs.api.record.follow import Plan, follow, last_event_id
from jobs.api.record.frames import frame, names, render, state_changed
from jobs.api.schemas import text
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import SERVED, STREAM_TYPE
from jobs.api.wire.members import queue_name
from jobs.conf import conf
from jobs.domain.errors import InvalidRequest
from jobs.domain.record.events import STATE_CHANGED, Kind
from jobs.domain.record.place import FIRST, read_place
from jobs.domain.states import CODES, TERMINAL
from jobs.services.operate.queues import stats
from jobs.services.record.events import EventFilter, StoredEvent, following, is_excluded, latest
from jobs.stream.subscription import Scope

LAST = 10  # the end of a job is among its last events
ENDS = {CODES[state] for state in TERMINAL}

STREAM_QUERY = {
    **FILTER,
    "channel": {**text(), "description": "`job:ID`, `queue:NAME` or `all`"},
    "access_token": {**text(), "description": "An API key, where OJS_SSE_QUERY_TOKEN is on"},
}
DESCRIBED = {
    "media": {STREAM_TYPE: text()},
    "query": STREAM_QUERY,
    "refusals": (404, 429),
}


class StreamView(OJSView):
    """Base of all streams."""

    http_method_names = ["get", "options"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Accept the key as a parameter if the settings allow it: EventSource sends no headers."""
        token = self.http.GET.get("access_token")
        if token and conf().sse_query_token and "HTTP_AUTHORIZATION" not in self.http.META:
            self.http.META["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        super().initial(request, *args, **kwargs)


class AllEvents(StreamView):
    """All events that the caller may see, by filter or channel."""

    @operation("streamEvents", {200: None}, **DESCRIBED)
    def get(self, request: Request) -> Any:
        """Follow events as server-sent events; Last-Event-ID resumes."""
        return follow(self, plan_of(request, self))


class Events(EventCollection, StreamView):
    """The record as JSON, or as a stream to clients that accept it."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "listEvents",
        EventCollection.get.operation.answers,  # type: ignore[attr-defined]
        query={**EventCollection.get.operation.query, **STREAM_QUERY},  # type: ignore[attr-defined]
        media={STREAM_TYPE: text()},
        refusals=(429,),
    )
    def get(self, request: Request) -> Any:
        """List events: the latest first, a page at a time, or those after an event in order.

        `cursor` is the newest event of the answer, for `after`. Older pages reach 10,000 events
        back; `pagination.total` counts only events that certainly exist. With `Accept:
        text/event-stream` the same events are a stream.
        """
        facts = self.http.META
        if (
            request.method == "GET"
            and STREAM_TYPE in facts.get("HTTP_ACCEPT", "")
            and SERVED in facts
        ):
            return follow(self, plan_of(request, self))
        return super().get(request)


class JobEvents(JobDetail, StreamView):
    """One job, until it ends."""

    http_method_names = ["get", "options"]

    @operation("streamJobEvents", {200: None, 204: None}, **DESCRIBED)
    def get(self, request: Request, job_id: str) -> Any:
        """Follow one job as server-sent events; ends with the job.

        A client that reconnects after the last event gets 204, which ends an EventSource.
        """
        asked = event_filter(request, self.principal.tenant)
        job = self.visible(job_id)
        # the end is needed with any filter of types, so only rendering applies the filter
        wanted = replace(asked, job_id=job_id, types=())
        is_again = last_event_id(self) is not None
        if job.finished_at is not None and is_again and _has_received_all(self, wanted):
            return Answer(None, status=204)
        return follow(
            self,
            Plan(
                f"job:{job_id}",
                Scope(job_id=job_id),
                wanted,
                render(asked.types),
                lambda is_resumed: self._end(job_id, asked.types, is_sent=is_resumed),
                is_end,
            ),
        )

    def _end(self, job_id: str, types: tuple[str, ...], *, is_sent: bool) -> tuple[bytes, bool]:
        """Return the frame of a job's end, unless a resume sent it; no more events will come."""
        if self.visible(job_id).finished_at is None:
            return b"", False
        found, _ = latest(EventFilter(job_id=job_id), limit=LAST)
        last = next((event for event in found if event.to_state in ENDS), None)
        if is_sent or last is None or not names(last, types):
            return b"", True
        return frame(STATE_CHANGED, state_changed(last), last.place.number), True


def _has_received_all(view: OJSView, wanted: EventFilter) -> bool:
    """Return whether a client that reconnects has received all events."""
    place = read_place(last_event_id(view) or "") or FIRST
    wanted = replace(wanted, with_moves=True)
    found, _ = following(wanted, place, limit=1, below_horizon=False)
    return not found


def is_end(event: StoredEvent) -> bool:
    """Return whether this is the last event of its job: the last part, if it has several."""
    is_followed = event.data.get("dead_letter") and not is_excluded(Kind.DEAD_LETTERED)
    return (
        event.to_state in ENDS
        and event.kind != Kind.RETRY_EXHAUSTED
        and not (event.kind == Kind.DISCARDED and is_followed)
    )


class QueueEvents(StreamView):
    """One queue."""

    @operation("streamQueueEvents", {200: None}, **DESCRIBED)
    def get(self, request: Request, name: str) -> Any:
        """Follow one queue as server-sent events; Last-Event-ID resumes."""
        wanted = replace(event_filter(request, self.principal.tenant), queues=(name,))
        stats(checked_name(name))
        return follow(self, Plan(f"queue:{name}", Scope(queue=name), wanted, render(wanted.types)))


def plan_of(request: Request, view: OJSView) -> Plan:
    """Read the parameters of a global stream. Raises InvalidRequest, NotFound, PermissionDenied."""
    wanted = event_filter(request, view.principal.tenant)
    channel = unquote(request.query_params.get("channel") or "all")
    kind, _, name = channel.partition(":")
    if kind == "queue" and name:
        queue_name("channel", name)  # clients follow a queue before its first job
        wanted = replace(wanted, queues=(name,))
    elif kind == "job" and name:
        JobDetail.visible(view, name)  # type: ignore[arg-type]  # needs a principal only
        wanted = replace(wanted, job_id=name)
    elif channel != "all":
        raise InvalidRequest.field("channel", "must be job:ID, queue:NAME or all", channel[:100])
    queue = wanted.queues[0] if len(wanted.queues) == 1 else None
    scope = Scope(job_id=wanted.job_id, queue=None if wanted.job_id else queue)
    return Plan(channel, scope, wanted, render(wanted.types))
