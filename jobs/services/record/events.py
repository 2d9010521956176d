"""Read the event record. Spec: contract 12.3 to 12.5, 25.4."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from jobs import queries
from jobs.conf import conf
from jobs.domain.record.events import NAMES, STATE_CHANGED, Kind, matches
from jobs.domain.record.place import Place, event_id

LEEWAY = timedelta(minutes=1)  # how far times and stamps may differ: a long transaction


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter: all members that are set must match; `types` may end in `*`.

    `with_moves` also reads the rows that a stream emits as `job.state_changed`: rows of any kind.
    `kinds` are codes, instead of `types`; they include kinds that are never emitted, such as a
    promotion.
    """

    types: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    job_id: str | None = None
    tenant: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    with_moves: bool = False
    kinds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event as recorded; `data` has the members of this kind alone."""

    id: str
    place: Place
    at: datetime
    kind: int  # a code of Kind, or of an extension's events
    job_id: str | None
    queue: str | None
    type: str | None
    tenant: str | None
    to_state: int | None
    from_state: int | None
    attempt: int | None
    worker_id: str | None
    took_ms: int | None
    data: dict[str, object]
    trace_id: str | None
    tenant_id: str | None
    is_below_horizon: bool  # no event can appear before it any more
    unique_key: str | None


def latest(wanted: EventFilter, *, limit: int, offset: int = 0) -> tuple[list[StoredEvent], bool]:
    """Read the latest events, newest first, and whether older events follow."""
    rows = queries.events(
        _params(wanted), order=queries.NEWEST_FIRST, limit=limit + 1, offset=offset
    )
    return [stored_event(row) for row in rows[:limit]], len(rows) > limit


def following(
    wanted: EventFilter, after: Place, *, limit: int, below_horizon: bool = True
) -> tuple[list[StoredEvent], bool]:
    """Read the events after a position, oldest first, and whether there are more.

    It reads only events below the horizon, unless the caller tolerates that other events appear
    before them later. A position older than the record reads from its beginning.
    """
    rows = queries.events(
        _params(wanted),
        order=queries.OLDEST_FIRST,
        after=after,
        below_horizon=below_horizon,
        limit=limit + 1,
    )
    return [stored_event(row) for row in rows[:limit]], len(rows) > limit


def history(job_id: str, *, limit: int) -> tuple[list[StoredEvent], bool]:
    """Read the events of one job, oldest first, and whether there are more."""
    rows = queries.events(
        _params(EventFilter(job_id=job_id)), order=queries.OLDEST_FIRST, limit=limit + 1
    )
    return [stored_event(row) for row in rows[:limit]], len(rows) > limit


def kept() -> tuple[Place, Place] | None:
    """Return the first and the last position of the record, None when it is empty."""
    return queries.record_ends()


def horizon() -> Place:
    """Return the horizon: events may still appear behind it, and events before it are complete."""
    return Place(queries.horizon() - 1, 0, 3)


def shown_kinds(patterns: Iterable[str] = ()) -> list[int]:
    """Return the codes of the events that `patterns` name, without patterns of all events.

    Codes of events that the settings exclude are left out.
    """
    chosen = tuple(patterns)
    return [
        int(kind)
        for kind, name in NAMES.items()
        if (not chosen or matches(name, chosen)) and not is_excluded(kind)
    ]


def is_excluded(kind: int) -> bool:
    """Return whether the settings exclude events of this kind. Spec: contract 25.2."""
    return matches(NAMES[Kind(kind)], conf().events_exclude)


def _params(wanted: EventFilter) -> dict[str, object]:
    since = None if wanted.since is None else queries.stamp_at(wanted.since - LEEWAY)
    until = None if wanted.until is None else queries.stamp_at(wanted.until + LEEWAY)
    return {
        "kinds": _kinds(wanted),
        "queues": list(wanted.queues) or None,
        "types": list(wanted.job_types) or None,
        "job_id": wanted.job_id,
        "tenant": wanted.tenant,
        "since": wanted.since,
        "until": wanted.until,
        "after_stamp": None if since is None else str(since),
        "before_stamp": None if until is None else str(until + 1),
    }


def _kinds(wanted: EventFilter) -> list[int]:
    if wanted.kinds:
        return list(wanted.kinds)
    has_changes_of_state = not wanted.types or matches(STATE_CHANGED, wanted.types)
    if wanted.with_moves and has_changes_of_state:
        return [*map(int, NAMES), int(Kind.MOVED)]
    return shown_kinds(wanted.types)


def stored_event(row: Sequence[object]) -> StoredEvent:
    """Build an event of a row as in sql/record/events.sql."""
    stamp, seq, part, at, kind, job_id, queue, job_type, tenant, to_state, from_state = row[:11]
    attempt, worker_id, took_ms, data, trace_id, tenant_id, is_below_horizon, unique_key = row[
        11:19
    ]
    place = Place(stamp, seq, part)  # type: ignore[arg-type]  # a database row, here and below
    return StoredEvent(
        id=event_id(place, at), place=place, at=at, kind=kind,  # type: ignore[arg-type]
        job_id=str(job_id) if job_id else None, queue=queue, type=job_type, tenant=tenant,  # type: ignore[arg-type]
        to_state=to_state, from_state=from_state, attempt=attempt, worker_id=worker_id,  # type: ignore[arg-type]
        took_ms=took_ms, data=orjson.loads(data) if data else {}, trace_id=trace_id,  # type: ignore[arg-type]
        tenant_id=tenant_id, is_below_horizon=bool(is_below_horizon), unique_key=unique_key,  # type: ignore[arg-type]
    )  # fmt: skip


def event_name(event: StoredEvent) -> str:
    """Return the wire name of an event."""
    return NAMES[Kind(event.kind)]
