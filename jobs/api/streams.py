"""Server-sent events: of one job, one queue, or everything the caller may see. Spec: contract 25.3.

A view checks access and finds what is followed, in a request thread; the frames are made in a
thread of the stream's own (see `EventStream`), which uses the database only to resume.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic
from typing import Any
from urllib.parse import unquote

from django.db import connections
from django.utils import timezone
from rest_framework.request import Request

from jobs.api.answer import Answer, EventStream
from jobs.api.base import OJSView
from jobs.api.codec import queue_name
from jobs.api.event_codec import encode_event
from jobs.api.events import FILTER, EventCollection, event_filter
from jobs.api.jobs import JobDetail
from jobs.api.media import SERVED, STREAM_TYPE
from jobs.api.openapi import operation
from jobs.api.queues import known_name
from jobs.api.schemas import text
from jobs.conf import conf
from jobs.domain import jsonio
from jobs.domain.errors import InvalidRequest, RealtimeUnavailable
from jobs.domain.events import NAMES, STATE_CHANGED, Kind, matches
from jobs.domain.place import FIRST, Place, read_place
from jobs.domain.states import CODES, TERMINAL, state_of
from jobs.domain.times import format_time
from jobs.services.operate.queues import stats
from jobs.services.record.events import (
    EventFilter,
    StoredEvent,
    following,
    is_excluded,
    kept,
    latest,
)
from jobs.stream.feed import Feed
from jobs.stream.places import Places
from jobs.stream.subscription import Dropped, Scope, Subscription, Told

RETRY_MS = 3000
GRACE_MS = 5000
REPLAY = 500  # events read at a time to resume
LAST = 10  # events of a job among which its end is
ENDS = {CODES[state] for state in TERMINAL}

feed = Feed()
places = Places()

Render = Callable[[StoredEvent], bytes]

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


@dataclass(frozen=True, slots=True)
class Plan:
    """What one stream tells: `channel` as clients name it, `opening` frames before the first event.

    `opening` gets whether the events behind Last-Event-ID were sent. It also says whether the
    stream ends with its frames; `is_last` ends it after an event.
    """

    channel: str
    scope: Scope
    wanted: EventFilter
    render: Render
    opening: Callable[[bool], tuple[bytes, bool]] = lambda _is_resumed: (b"", False)
    is_last: Callable[[StoredEvent], bool] = lambda _event: False
    is_replayed: bool = True


class StreamView(OJSView):
    """Base of all streams."""

    http_method_names = ["get", "options"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Take the key from the address where that is switched on: EventSource sends no headers."""
        token = self.http.GET.get("access_token")
        if token and conf().sse_query_token and "HTTP_AUTHORIZATION" not in self.http.META:
            self.http.META["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        super().initial(request, *args, **kwargs)


def follow(view: OJSView, plan: Plan) -> EventStream:
    """Start a stream for the caller of a view: what follows Last-Event-ID, else from now on."""
    after = last_event_id(view) if plan.is_replayed else None
    member = Subscription(plan.scope, wants(plan.wanted))
    return opened(
        view,
        member,
        lambda is_welcome: _frames(plan, member, after, is_welcome),
        joins=after is None,
    )


def opened(
    view: OJSView,
    member: Subscription,
    frames: Callable[[Callable[[], bool]], Iterator[bytes]],
    *,
    joins: bool = True,
) -> EventStream:
    """Give a stream its place and its events; `frames` gets a test whether it may go on.

    Raises RealtimeUnavailable, RateLimited, BackendUnavailable.
    """
    if not view.http.META.get(SERVED):
        raise RealtimeUnavailable("event streams are not served by this kind of server")
    free = places.take(_client(view))
    try:
        if joins:  # before the answer begins: what is committed after its head is told
            feed.join(member)
    except Exception:
        free()
        raise

    def close() -> None:
        feed.leave(member)
        free()

    return EventStream(frames(lambda: _is_welcome(view)), close)


def _is_welcome(view: OJSView) -> bool:
    """Tell whether the caller's key or session still allows the stream."""
    wanted = view.required("GET")
    try:
        return wanted is not None and view.may(wanted.operation)
    finally:
        connections.close_all()


def _client(view: OJSView) -> str:
    address = str(view.http.META.get("REMOTE_ADDR", ""))
    name = view.principal.name
    return address if name == "anonymous" else name


def last_event_id(view: OJSView) -> str | None:
    """Return the event after which the client goes on: an id or a number of ours, else None."""
    given = view.http.META.get("HTTP_LAST_EVENT_ID") or view.http.GET.get("last_event_id")
    return str(given).strip() if given and read_place(str(given).strip()) else None


def wants(wanted: EventFilter) -> Callable[[StoredEvent], bool]:
    """Return the filter as a test of one event."""

    def test(event: StoredEvent) -> bool:
        return (
            (wanted.tenant is None or event.tenant == wanted.tenant)
            and (wanted.job_id is None or event.job_id == wanted.job_id)
            and (not wanted.queues or event.queue in wanted.queues)
            and (not wanted.job_types or event.type in wanted.job_types)
            and any(names(event, wanted.types))
        )

    return test


def names(event: StoredEvent, types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names under which a stream tells an event: its own, and a change of state."""
    found = []
    name = NAMES.get(event.kind)  # type: ignore[call-overload]  # codes are those of Kind
    if name and not is_excluded(event.kind):
        found.append(name)
    is_move = event.kind == Kind.CAME_TO_QUEUE  # to another queue, in the same state
    if event.to_state is not None and event.place.part == 1 and not is_move:
        found.append(STATE_CHANGED)
    return tuple(name for name in found if not types or matches(name, types))


# --- frames ---------------------------------------------------------------------------------------


def frame(name: str | None, data: object, number: int | None = None) -> bytes:
    """Render one event of a stream; without a name browsers take it for a `message`."""
    head = b"" if number is None else b"id: %d\n" % number
    head += b"" if name is None else b"event: %s\n" % name.encode()
    return head + b"data: " + jsonio.dumps(data) + b"\n\n"


@lru_cache(1024)  # equal wishes share one renderer, and so what it rendered
def render(types: tuple[str, ...]) -> Render:
    """Return how the events of a stream are rendered: typed, then the change of state."""

    def frames(event: StoredEvent) -> bytes:
        shown = names(event, types)
        last = len(shown) - 1
        # what may still be preceded has no id, so that a client resumes before it
        number = event.place.number if event.is_settled else None
        return b"".join(
            frame(name, _payload(name, event), number if n == last else None)
            for n, name in enumerate(shown)
        )

    return frames


def _payload(name: str, event: StoredEvent) -> dict[str, Any]:
    if name == STATE_CHANGED:
        return _state_changed(event)
    shown = encode_event(event)
    data = shown.pop("data")
    at = {"event": name, "type": event.type or name, "timestamp": shown["timestamp"]}
    return {**shown, "job_id": event.job_id, "queue": event.queue, **data, **at, "data": data}


def _state_changed(event: StoredEvent) -> dict[str, Any]:
    before = None if event.from_state is None else state_of(event.from_state).value
    return {
        "job_id": event.job_id,
        "queue": event.queue,
        "type": event.type,
        "job_type": event.type,
        "event": STATE_CHANGED,
        "from": before or "initial",
        "to": state_of(event.to_state).value,  # type: ignore[arg-type]  # it has one
        "timestamp": format_time(event.at),
    }


def _frames(
    plan: Plan, member: Subscription, after: str | None, is_welcome: Callable[[], bool]
) -> Iterator[bytes]:
    yield b"retry: %d\n\n" % RETRY_MS
    told: set[Place] = set()
    try:
        is_resumed = after is not None and (yield from _resumed(plan, member, after, told))
        opening, is_over = plan.opening(is_resumed)
    finally:
        connections.close_all()
    yield opening
    interval_s = conf().stream_heartbeat_ms / 1000
    checked = monotonic()
    while not is_over:
        batch, dropped = member.take(interval_s)
        fresh = [one for one in batch if one.event.place not in told]
        chunk = _dropped(plan.channel, dropped) if dropped else b""
        chunk += b"".join(_shared(one, plan) for one in fresh)
        is_over = any(plan.is_last(one.event) for one in fresh)
        if member.ended:
            yield chunk + shutdown_frame(member.ended)
            return
        yield chunk or b":heartbeat\n\n"
        if monotonic() - checked >= interval_s:
            checked = monotonic()
            is_over = is_over or not is_welcome()


def _shared(told: Told, plan: Plan) -> bytes:
    """Render an event once for all clients with equal wishes."""
    known = told.rendered.get(plan.render)
    if known is None:
        known = told.rendered[plan.render] = plan.render(told.event)
    return bytes(known)


def _resumed(
    plan: Plan, member: Subscription, after: str, told: set[Place]
) -> Generator[bytes, None, bool]:
    """Tell what was missed, then join the live events; `told` gets what both may have.

    Returns whether all missed events were sent: some may have been removed.
    """
    place = read_place(after) or FIRST
    ends = kept()
    if ends and place.stamp < ends[0].stamp:
        feed.join(member)
        yield _gap(plan, place, ends[1])
        return False
    found, has_more = _page(plan, place, settled=True)
    while has_more:
        yield b"".join(map(plan.render, found))
        place = found[-1].place
        found, has_more = _page(plan, place, settled=True)
    feed.join(member)
    # Once more, now that nothing new can be missed
    has_more = True
    while has_more:
        found, has_more = _page(plan, place, settled=False)
        told.update(event.place for event in found)
        yield b"".join(map(plan.render, found))
        place = found[-1].place if found else place
    return True


def _page(plan: Plan, after: Place, *, settled: bool) -> tuple[list[StoredEvent], bool]:
    wanted = replace(plan.wanted, with_moves=True)
    return following(wanted, after, limit=REPLAY, settled=settled)


def _gap(plan: Plan, given: Place, last: Place) -> bytes:
    """Tell that events are gone; how many is known of the whole record alone, not of one tenant."""
    is_whole = plan.wanted.tenant is None
    missed = max(1, (last.seq - given.seq) % (1 << 22)) if is_whole else 1
    return frame(
        "system.gap",
        {
            "channel": plan.channel,
            "gap_start": str(given.number),
            "gap_end": str(last.number),
            "estimated_missed_count": missed,
            "timestamp": _now(),
        },
    )


def _dropped(channel: str, dropped: Dropped) -> bytes:
    return b":events-dropped %d\n\n" % dropped.number + frame(
        "system.events_dropped",
        {
            "channel": channel,
            "dropped_count": dropped.number,
            "oldest_dropped_id": str(dropped.oldest.place.number),
            "newest_dropped_id": str(dropped.newest.place.number),
            "timestamp": _now(),
        },
    )


def shutdown_frame(reason: str) -> bytes:
    """Render the last frame of a server that stops."""
    facts = {"reason": reason, "grace_period_ms": GRACE_MS, "timestamp": _now()}
    return frame("server.shutdown", facts)


def _now() -> str:
    return format_time(timezone.now())


# --- views ----------------------------------------------------------------------------------------


class AllEvents(StreamView):
    """Everything the caller may see, by filter or channel."""

    @operation("streamEvents", {200: None}, **DESCRIBED)
    def get(self, request: Request) -> Any:
        """Follow events as server-sent events; Last-Event-ID resumes."""
        return follow(self, plan_of(request, self))


class Events(EventCollection, StreamView):
    """The record as JSON, or as a stream to who accepts that."""

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
        back; `pagination.total` counts no further than what is known to be there. With
        `Accept: text/event-stream` the same events are a stream.
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

        Who reconnects when there is nothing left to tell gets 204, which ends an EventSource.
        """
        asked = event_filter(request, self.principal.tenant)
        job = self.visible(job_id)
        # the end is looked for whatever types are asked for, so only rendering goes by them
        wanted = replace(asked, job_id=job_id, types=())
        is_again = last_event_id(self) is not None
        if job.finished_at is not None and is_again and _is_told(self, wanted):
            return Answer(None, status=204)
        return follow(
            self,
            Plan(
                f"job:{job_id}",
                Scope(job_id=job_id),
                wanted,
                render(asked.types),
                lambda is_resumed: self._end(job_id, asked.types, is_told=is_resumed),
                is_end,
            ),
        )

    def _end(self, job_id: str, types: tuple[str, ...], *, is_told: bool) -> tuple[bytes, bool]:
        """Tell how a job ended that has ended, unless a resume did; nothing more will come."""
        if self.visible(job_id).finished_at is None:
            return b"", False
        found, _ = latest(EventFilter(job_id=job_id), limit=LAST)
        last = next((event for event in found if event.to_state in ENDS), None)
        if is_told or last is None or not names(last, types):
            return b"", True
        return frame(STATE_CHANGED, _state_changed(last), last.place.number), True


def _is_told(view: OJSView, wanted: EventFilter) -> bool:
    """Tell whether a client that reconnects has seen everything."""
    place = read_place(last_event_id(view) or "") or FIRST
    wanted = replace(wanted, with_moves=True)
    found, _ = following(wanted, place, limit=1, settled=False)
    return not found


def is_end(event: StoredEvent) -> bool:
    """Tell whether nothing more comes of the event's job: the last part, where it has several."""
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
        stats(known_name(name))
        return follow(self, Plan(f"queue:{name}", Scope(queue=name), wanted, render(wanted.types)))


def plan_of(request: Request, view: OJSView) -> Plan:
    """Read what a global stream is asked for. Raises InvalidRequest, NotFound, PermissionDenied."""
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
