"""Follow the event record as a stream: reserve a place, resume, then send live events.

Spec: contract 25.3. The stream's own thread makes the frames (see `EventStream`), and uses the
database only to resume.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from time import monotonic

from django.db import connections

from jobs.api.base import OJSView
from jobs.api.record.frames import Render, dropped_frame, gap_frame, names, shutdown_frame
from jobs.api.wire.answer import EventStream
from jobs.api.wire.media import SERVED
from jobs.conf import conf
from jobs.domain.errors import RealtimeUnavailable
from jobs.domain.record.place import FIRST, Place, read_place
from jobs.services.record.events import EventFilter, StoredEvent, following, kept
from jobs.stream.feed import Feed
from jobs.stream.places import Places
from jobs.stream.subscription import Scope, SharedEvent, Subscription

RETRY_MS = 3000
REPLAY = 500  # events read at a time to resume

feed = Feed()
places = Places()


@dataclass(frozen=True, slots=True)
class Plan:
    """The content of one stream: `channel` as clients name it, `opening` frames before all events.

    `opening` gets whether the events behind Last-Event-ID were sent. It also returns whether the
    stream ends with its frames; `is_last` ends it after an event.
    """

    channel: str
    scope: Scope
    wanted: EventFilter
    render: Render
    opening: Callable[[bool], tuple[bytes, bool]] = lambda _is_resumed: (b"", False)
    is_last: Callable[[StoredEvent], bool] = lambda _event: False
    is_replayed: bool = True


def follow(view: OJSView, plan: Plan) -> EventStream:
    """Start a stream for the caller of a view: events after Last-Event-ID, or new events."""
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
    """Reserve a place for a stream and start it; `frames` gets a test whether it may go on.

    Raises RealtimeUnavailable, RateLimited, BackendUnavailable.
    """
    if not view.http.META.get(SERVED):
        raise RealtimeUnavailable("event streams are not served by this kind of server")
    free = places.take(_client(view))
    try:
        if joins:  # before the answer begins, so that no later commit is missed
            feed.join(member)
    except Exception:
        free()
        raise

    def close() -> None:
        feed.leave(member)
        free()

    return EventStream(frames(lambda: _is_welcome(view)), close)


def _is_welcome(view: OJSView) -> bool:
    """Return whether the caller's key or session still allows the stream."""
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
    """Return the event behind which the client continues: an id or a number of ours, else None."""
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


def _frames(
    plan: Plan, member: Subscription, after: str | None, is_welcome: Callable[[], bool]
) -> Iterator[bytes]:
    yield b"retry: %d\n\n" % RETRY_MS
    sent: set[Place] = set()
    try:
        is_resumed = after is not None and (yield from _resumed(plan, member, after, sent))
        opening, is_over = plan.opening(is_resumed)
    finally:
        connections.close_all()
    yield opening
    interval_s = conf().stream_heartbeat_ms / 1000
    checked = monotonic()
    while not is_over:
        batch, dropped = member.take(interval_s)
        fresh = [one for one in batch if one.event.place not in sent]
        chunk = dropped_frame(plan.channel, dropped) if dropped else b""
        chunk += b"".join(_shared(one, plan) for one in fresh)
        is_over = any(plan.is_last(one.event) for one in fresh)
        if member.ended:
            yield chunk + shutdown_frame(member.ended)
            return
        yield chunk or b":heartbeat\n\n"
        if monotonic() - checked >= interval_s:
            checked = monotonic()
            is_over = is_over or not is_welcome()


def _shared(shared: SharedEvent, plan: Plan) -> bytes:
    """Render an event once for all clients with the same renderer."""
    frame = shared.rendered.get(plan.render)
    if frame is None:
        frame = shared.rendered[plan.render] = plan.render(shared.event)
    return bytes(frame)


def _resumed(
    plan: Plan, member: Subscription, after: str, sent: set[Place]
) -> Generator[bytes, None, bool]:
    """Send missed events, then join the live events; `sent` gets events that may come twice.

    Returns whether all missed events were sent: some may have been removed.
    """
    place = read_place(after) or FIRST
    ends = kept()
    if ends and place.stamp < ends[0].stamp:
        feed.join(member)
        yield gap_frame(plan.channel, place, ends[1], tenant=plan.wanted.tenant)
        return False
    found, has_more = _page(plan, place, below_horizon=True)
    while has_more:
        yield b"".join(map(plan.render, found))
        place = found[-1].place
        found, has_more = _page(plan, place, below_horizon=True)
    feed.join(member)
    # Read once more: from now on the live events are complete
    has_more = True
    while has_more:
        found, has_more = _page(plan, place, below_horizon=False)
        sent.update(event.place for event in found)
        yield b"".join(map(plan.render, found))
        place = found[-1].place if found else place
    return True


def _page(plan: Plan, after: Place, *, below_horizon: bool) -> tuple[list[StoredEvent], bool]:
    wanted = replace(plan.wanted, with_moves=True)
    return following(wanted, after, limit=REPLAY, below_horizon=below_horizon)
