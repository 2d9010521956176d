"""Read the event record. Spec: contract 12.3 to 12.5."""

from dataclasses import dataclass
from datetime import datetime

import orjson
from uuid6 import UUID

from jobs import queries
from jobs.domain.events import KINDS, NAMES, Kind

SEQ_BITS, STAMP_BITS = 36, 38  # of the 74 free bits of a UUIDv7


@dataclass(frozen=True, slots=True)
class EventFilter:
    """AND of what is set; `types` may end in `*`."""

    types: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    job_id: str | None = None
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event as recorded; `data` is what only this kind has."""

    id: str
    at: datetime
    kind: Kind
    job_id: str | None
    queue: str | None
    type: str | None
    to_state: int | None
    from_state: int | None
    attempt: int | None
    worker_id: str | None
    took_ms: int | None
    data: dict[str, object]
    trace_id: str | None
    tenant_id: str | None


def event_id(stamp: int, seq: int, at: datetime) -> str:
    """Name an event: a UUIDv7 whose random bits are its place in the record."""
    ms = int(at.timestamp() * 1000) & (1 << 48) - 1
    place = (stamp & (1 << STAMP_BITS) - 1) << SEQ_BITS | seq & (1 << SEQ_BITS) - 1
    high, low = place >> 62, place & (1 << 62) - 1
    return f"evt_{UUID(int=ms << 80 | high << 64 | low, version=7)}"


def position(identity: str) -> tuple[int, int] | None:
    """Return the (stamp, seq) an event id names, None when it is no event id."""
    try:
        number = UUID(identity.removeprefix("evt_")).int
    except ValueError:
        return None
    place = (number >> 64 & (1 << 12) - 1) << 62 | number & (1 << 62) - 1
    return place >> SEQ_BITS, place & (1 << SEQ_BITS) - 1


def events(wanted: EventFilter, *, after: str | None, limit: int) -> tuple[list[StoredEvent], bool]:
    """Read events and whether there are more: after an id ascending, else the latest first.

    An id that is unknown reads from the oldest event kept.
    """
    stamp, seq = (position(after) or (0, 0)) if after else (None, None)
    rows = queries.events(
        {
            "kinds": _kinds(wanted.types),
            "queues": list(wanted.queues) or None,
            "types": list(wanted.job_types) or None,
            "job_id": wanted.job_id,
            "tenant": wanted.tenant,
            "after_stamp": None if stamp is None else str(stamp),
            "after_seq": seq,
        },
        ascending=after is not None,
        limit=limit + 1,
    )
    return [_event(row) for row in rows[:limit]], len(rows) > limit


def _kinds(types: tuple[str, ...]) -> list[int] | None:
    if not types:
        return None
    return [
        int(kind)
        for name, kind in KINDS.items()
        if any(name == t or (t.endswith("*") and name.startswith(t[:-1])) for t in types)
    ]


def _event(row: tuple[object, ...]) -> StoredEvent:
    # positions follow sql/events.sql
    stamp, seq, at, kind, job_id, queue, job_type, _tenant, to_state, from_state = row[:10]
    attempt, worker_id, took_ms, data, trace_id, tenant_id = row[10:]
    return StoredEvent(
        id=event_id(stamp, seq, at),  # type: ignore[arg-type]  # a database row
        at=at, kind=Kind(kind), job_id=str(job_id) if job_id else None, queue=queue,  # type: ignore[arg-type]
        type=job_type, to_state=to_state, from_state=from_state, attempt=attempt,  # type: ignore[arg-type]
        worker_id=worker_id, took_ms=took_ms, data=orjson.loads(data) if data else {},  # type: ignore[arg-type]
        trace_id=trace_id, tenant_id=tenant_id,  # type: ignore[arg-type]
    )  # fmt: skip


def event_name(event: StoredEvent) -> str:
    """Return the wire name of an event."""
    return NAMES[event.kind]
