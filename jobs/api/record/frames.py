"""The bytes of a stream of server-sent events. Spec: contract 25.3.

Frames report events, changes of state, gaps, dropped events, and the shutdown of the server.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.utils import timezone

from jobs.api.wire.event_codec import encode_event
from jobs.domain.record.events import NAMES, STATE_CHANGED, Kind, matches
from jobs.domain.record.place import Place
from jobs.domain.states import state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.services.record.events import StoredEvent, is_excluded
from jobs.stream.subscription import Dropped

GRACE_MS = 5000

Render = Callable[[StoredEvent], bytes]


def names(event: StoredEvent, types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names under which a stream sends an event: its own, and a change of state."""
    found = []
    name = NAMES.get(event.kind)  # type: ignore[call-overload]  # codes are those of Kind
    if name and not is_excluded(event.kind):
        found.append(name)
    is_move = event.kind == Kind.CAME_TO_QUEUE  # to another queue, in the same state
    if event.to_state is not None and event.place.part == 1 and not is_move:
        found.append(STATE_CHANGED)
    return tuple(name for name in found if not types or matches(name, types))


def frame(name: str | None, data: object, number: int | None = None) -> bytes:
    """Render one event of a stream; browsers call an event without a name `message`."""
    head = b"" if number is None else b"id: %d\n" % number
    head += b"" if name is None else b"event: %s\n" % name.encode()
    return head + b"data: " + jsonio.dumps(data) + b"\n\n"


@lru_cache(1024)  # streams with equal types share one renderer and its results
def render(types: tuple[str, ...]) -> Render:
    """Return the renderer of events: as its own type, then as a change of state."""

    def frames(event: StoredEvent) -> bytes:
        shown = names(event, types)
        last = len(shown) - 1
        # an unsettled event has no id, so that a client resumes before it
        number = event.place.number if event.is_below_horizon else None
        return b"".join(
            frame(name, _payload(name, event), number if n == last else None)
            for n, name in enumerate(shown)
        )

    return frames


def _payload(name: str, event: StoredEvent) -> dict[str, Any]:
    if name == STATE_CHANGED:
        return state_changed(event)
    shown = encode_event(event)
    data = shown.pop("data")
    at = {"event": name, "type": event.type or name, "timestamp": shown["timestamp"]}
    return {**shown, "job_id": event.job_id, "queue": event.queue, **data, **at, "data": data}


def state_changed(event: StoredEvent) -> dict[str, Any]:
    """Encode the change of state that an event brings."""
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


def gap_frame(channel: str, given: Place, last: Place, *, tenant: str | None) -> bytes:
    """Report removed events; their number is known for the whole record, not for one tenant."""
    missed = max(1, (last.seq - given.seq) % (1 << 22)) if tenant is None else 1
    return frame(
        "system.gap",
        {
            "channel": channel,
            "gap_start": str(given.number),
            "gap_end": str(last.number),
            "estimated_missed_count": missed,
            "timestamp": _now(),
        },
    )


def dropped_frame(channel: str, dropped: Dropped) -> bytes:
    """Report the events that a slow client did not receive."""
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
