"""The event record."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

import orjson

from jobs.database import connection
from jobs.domain.record.loglines import Recorded
from jobs.domain.record.place import FIRST, SEQ_MASK, Place
from jobs.models import Event
from jobs.queries.base import as_json, run, run_hot


def note(kind: int, queue: str | None, data: Mapping[str, Any]) -> None:
    """Record an event that is not a change of a job."""
    run("note", {"kind": kind, "queue": queue, "data": as_json(data)})


Seen = tuple[str, int]  # (stamp, seq) of an event


def unread(stamp: int) -> int:
    """Return about how many events of the record have this stamp or a later one; a few reads."""
    return max(0, int(run("unread", {"unread": str(stamp)})[0][0]))


def emit_pruned(pruned: Sequence[Mapping[str, Any]]) -> None:
    """Record that jobs left the dead letter; items have queue, reason and count."""
    run("emit_pruned", {"pruned": as_json(pruned)})


OLDEST_FIRST, NEWEST_FIRST = "", " DESC"  # orders of events

_OF_JOB = "\n   AND e.job_id = %(job_id)s::uuid"

_BEFORE = "\n   AND e.stamp < %(before_stamp)s::text::xid8"

_BELOW_HORIZON = "\n   AND e.stamp < pg_snapshot_xmin(pg_current_snapshot())"

# An event's name has the low bits of its seq only, enough within one stamp
_FROM = f"""
   AND (e.stamp > %(after_stamp)s::text::xid8
        OR ((e.seq - %(after_seq)s::bigint) & {SEQ_MASK}) BETWEEN 0 AND {SEQ_MASK // 2})"""

_AFTER = f"""
   AND (e.stamp > %(after_stamp)s::text::xid8
        OR ((e.seq - %(after_seq)s::bigint) & {SEQ_MASK}) <> 0 OR k.part > %(after_part)s::int)"""


def events(
    params: Mapping[str, Any],
    *,
    order: str,
    limit: int,
    offset: int = 0,
    after: Place | None = None,
    below_horizon: bool = False,
) -> list[Any]:
    """Read public events by filter, rows as in `events.sql`; `after` is an event's position."""
    given = {**params, "limit": limit, "offset": offset}
    conditions = _OF_JOB if params["job_id"] is not None else ""
    conditions += _BEFORE if params["before_stamp"] is not None else ""
    conditions += _BELOW_HORIZON if below_horizon else ""
    place = ""
    if after is not None and after != FIRST:
        conditions, place = conditions + _FROM, _AFTER
        given |= {"after_stamp": str(after.stamp), "after_seq": after.seq, "after_part": after.part}
    by = f"e.stamp{order}, e.seq{order}"
    parts = {
        "conditions": conditions, "place": place,
        "order": by, "order of parts": f"{by}, k.part{order}",
    }  # fmt: skip
    return run("events", given, parts=parts)


def stamp_at(at: datetime) -> int:
    """Return about which stamp the record had at a time."""
    return int(run("stamp_at", {"at": at})[0][0])


def record_ends() -> tuple[Place, Place] | None:
    """Return the first and the last position of the record, None when it is empty."""
    rows = [
        Event.objects.order_by(*order).values_list("stamp", "seq").first()
        for order in (("stamp", "seq"), ("-stamp", "-seq"))
    ]
    if rows[0] is None or rows[1] is None:
        return None
    return Place(int(rows[0][0]), rows[0][1]), Place(int(rows[1][0]), rows[1][1])


def feed(params: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """Read the next events of streams; returns the horizon and rows as in `events.sql`."""
    rows = run("feed", params)
    return rows[0][0], [row[1:] for row in rows if row[1] is not None]


def missed(stamp: int, sent: Iterable[int], limit: int) -> dict[int, int]:
    """Return committed events from a stamp on that were not streamed, newest first.

    The result has stamps by seq.
    """
    rows = run("missed", {"stamp": str(stamp), "sent": list(sent), "limit": limit})
    return {seq: at for at, seq in rows}


DATA = Recorded._fields.index("data")


class LogPlace(NamedTuple):
    """The position of the loop `log`."""

    stamp: str
    seq: int


class Read(NamedTuple):
    """A batch of the record: its end, the number of events, and the requested events."""

    stamp: str
    seq: int
    looked_at: int
    events: list[Recorded]


def recorded(after: LogPlace, params: Mapping[str, Any], batch: int) -> Read | None:
    """Read events for log lines behind a position; None: there are none."""
    given = {**params, "stamp": after.stamp, "seq": after.seq, "batch": batch}
    rows = run_hot("log", given)
    if not rows:
        return None
    stamp, seq, looked_at = rows[0][:3]
    return Read(stamp, seq, looked_at, [_recorded(row[3:]) for row in rows if row[3] is not None])


def _recorded(row: Sequence[Any]) -> Recorded:
    data = orjson.loads(row[DATA]) if row[DATA] else {}
    return Recorded._make((*row[:DATA], data, *row[DATA + 1 :]))


def log_position() -> LogPlace | None:
    """Return the position behind the events that have their lines, None without one."""
    rows = run_hot("log_position", {})
    return LogPlace._make(rows[0]) if rows else None


def log_reached(before: LogPlace, after: LogPlace) -> None:
    """Move the position behind a batch, unless another process has moved it."""
    was = {"was_stamp": before.stamp, "was_seq": before.seq}
    run_hot("log_reached", {**was, "stamp": after.stamp, "seq": after.seq})


def log_begin() -> None:
    """Set the start of the log lines behind all complete events, unless a position exists."""
    run("log_begin", {})


def horizon() -> int:
    """Return the oldest running transaction: events below it are complete."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


def emit(events_json: bytes) -> None:
    """Record events; one JSON array as `emit.sql` reads it."""
    run("emit", {"events": events_json.decode()})


class Run(NamedTuple):
    """A start of a job (`starts`), an end of a run (`ends`), or another recorded event."""

    stamp: str
    seq: int
    at: datetime
    starts: bool
    ends: bool
    job_id: str | None
    queue: str | None
    tenant: str | None
    took_ms: int | None  # of a start: the wait before it
    worker_id: str | None
    lane_id: int | None  # of a start, while the job exists


def runs(since: int, before: tuple[str, int], limit: int) -> list[Run]:
    """Read a page of the record backwards, from before (stamp, seq) down to the stamp `since`."""
    params = {"since": str(since), "stamp": before[0], "seq": before[1], "limit": limit}
    return list(starmap(Run, run("runs", params)))


class StartWaitsRow(NamedTuple):
    """Starts and waits of a queue, of a tenant, or of all jobs (`part`); null waits: no start."""

    part: str
    name: str
    starts: int
    waits: Sequence[int] | None  # in ms: of 50, 95, 99 and 100 percent
    is_cut: bool


def start_waits(
    stamps: tuple[int, int], times: tuple[datetime, datetime], looked: int
) -> list[StartWaitsRow]:
    """Read starts between two stamps and two times, of the latest `looked` events there."""
    params = {
        "low": str(stamps[0]), "high": str(stamps[1]), "since": times[0], "until": times[1],
        "looked": looked,
    }  # fmt: skip
    return list(starmap(StartWaitsRow, run("start_waits", params)))
