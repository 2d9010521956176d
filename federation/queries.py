"""One typed function per statement in `sql/`: the only module of the app with a cursor."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from jobs.domain.wire import jsonio
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def _json(rows: object) -> str:
    return jsonio.dumps(rows).decode()


# --- federation ids -------------------------------------------------------------------------------


class Key(NamedTuple):
    """A federation id and its job; `job_id` None: no job."""

    tenant: str
    federation_id: str
    job_id: str | None


class Noted(NamedTuple):
    """The job that is stored for a federation id."""

    job_id: str
    is_new: bool  # stored by this transaction


def reserve(keys: Sequence[Key], window_ms: int) -> dict[tuple[str, str], Noted]:
    """Store jobs for federation ids in the caller's transaction; return the stored jobs.

    The result is by tenant and federation id. Of several equal keys the first counts.
    """
    given = [{"n": n, **key._asdict()} for n, key in enumerate(keys)]
    found = _rows("reserve", {"keys": _json(given), "window_ms": window_ms})
    return {(tenant, federation_id): Noted(*rest) for tenant, federation_id, *rest in found}


def correct_keys(keys: Sequence[Key]) -> None:
    """Correct rows that `reserve` stored in this transaction."""
    _rows("correct_keys", {"keys": _json([key._asdict() for key in keys])})


def forget_keys(window_ms: int, batch: int) -> int:
    """Remove keys that are older than the window; returns how many."""
    return len(_rows("forget_keys", {"window_ms": window_ms, "batch": batch}))


# --- copies ---------------------------------------------------------------------------------------


class Merged(NamedTuple):
    """A revision that was newer than the stored revision."""

    origin_region: str
    job_id: str
    tenant: str
    federation_id: str
    type: str
    queue: str
    is_conflict: bool  # a new copy, and another region has one
    winner_region: str
    winner_job: str


def alone() -> None:
    """Prevent merges of copies by other transactions until the caller's transaction ends."""
    _rows("alone", {})


def merge(rows: Sequence[Mapping[str, Any]]) -> list[Merged]:
    """Store newer revisions; members as `sql/merge.sql` reads them."""
    return list(starmap(Merged, _rows("merge", {"rows": _json(list(rows))})))


def forget_copies(retention_ms: int, batch: int) -> int:
    """Remove copies of jobs that ended long ago; returns how many."""
    return len(_rows("forget_copies", {"retention_ms": retention_ms, "batch": batch}))


# --- outgoing revisions ---------------------------------------------------------------------------


class Changed(NamedTuple):
    """A federated job of this region that changed, with the facts of its last event."""

    job_id: str
    at: datetime
    to_state: int | None  # null: the state did not change
    attempt: int | None


class Read(NamedTuple):
    """A batch of the event record; without events the position is unchanged."""

    stamp: int
    seq: int
    events: int
    changed: list[Changed]


def transitions(stamp: int, seq: int, region: str, batch: int) -> Read:
    """Read the event record after a position."""
    params = {"stamp": str(stamp), "seq": seq, "region": region, "batch": batch}
    rows = _rows("transitions", params)
    last_stamp, last_seq, events = rows[0][:3]
    changed = [Changed(*row[3:]) for row in rows if row[3] is not None]
    if not events:
        return Read(stamp, seq, 0, [])
    return Read(last_stamp, last_seq, events, changed)


class Outgoing(NamedTuple):
    """A revision that a peer does not have."""

    job_id: str
    tenant: str
    federation_id: str
    type: str
    queue: str
    state: str
    priority: int
    attempt: int
    created_at: datetime
    enqueued_at: datetime
    completed_at: datetime | None
    revision: int
    bound_to: str | None
    adopts_region: str | None
    adopts_job: str | None
    payload: str | None  # JSON


def outgoing(region: str, cursor: int, *, batch: int, bytes_: int) -> list[Outgoing]:
    """Return the next revisions of a region after a cursor, oldest first."""
    params = {"region": region, "cursor": cursor, "batch": batch, "bytes": bytes_}
    return list(starmap(Outgoing, _rows("outgoing", params)))


class Lag(NamedTuple):
    """The lag of a peer."""

    region: str
    cursor: int
    lag_ms: int
    pending: int


def lags(peers: Sequence[str], local: str, *, place: tuple[int, int], most: int) -> list[Lag]:
    """Return the lags of peers; `pending` is counted up to `most`."""
    params = {
        "peers": list(peers), "local": local, "stamp": str(place[0]), "seq": place[1], "most": most,
    }  # fmt: skip
    return list(starmap(Lag, _rows("lags", params)))


def note_lags(lags_ms: Mapping[str, int], late_ms: float) -> int:
    """Store the lags of all peers; returns how many exceed `late_ms`."""
    params = {
        "regions": list(lags_ms), "lags_ms": list(lags_ms.values()), "late_ms": int(late_ms),
    }  # fmt: skip
    return len(_rows("note_lags", params))


# --- regions --------------------------------------------------------------------------------------


def note_minute(region: str, rtt_ms: float | None) -> None:
    """Count a probe in the ring of a region's last hour; None: it failed."""
    _rows("note_minute", {"region": region, "rtt_ms": rtt_ms})


def forget_region(region: str, batch: int) -> int:
    """Remove copies of jobs of a region, after a call of `alone`; returns how many."""
    found: int = _rows("forget_region", {"region": region, "batch": batch})[0][0]
    return found


# --- adoption -------------------------------------------------------------------------------------


class Waiting(NamedTuple):
    """A waiting job of a region, from its copy."""

    job_id: str
    tenant: str
    federation_id: str
    type: str
    queue: str
    state: str
    priority: int
    enqueued_at: datetime
    bound_to: str | None
    winner: bool
    payload: str | None  # JSON


def waiting(region: str, *, after: str, queue: str | None, batch: int) -> list[Waiting]:
    """Lock and return waiting jobs of a region, by id; needs a transaction."""
    params = {"region": region, "after": after, "queue": queue, "batch": batch}
    return list(starmap(Waiting, _rows("waiting", params)))


class Adoptable(NamedTuple):
    """Waiting jobs of a queue of a region, and why they stay there; None: they may be adopted."""

    queue: str
    why: str | None
    jobs: int


def adoptable(region: str, *, queue: str | None, most: int) -> list[Adoptable]:
    """Count waiting jobs of a region, up to `most`."""
    params = {"region": region, "queue": queue, "most": most}
    return list(starmap(Adoptable, _rows("adoptable", params)))


def adopted(region: str, took_place: Mapping[str, str]) -> None:
    """Store the ids of the jobs here that replaced a region's jobs; keys are the old ids."""
    rows = [{"job_id": one, "adopted_as": here} for one, here in took_place.items()]
    _rows("adopted", {"region": region, "rows": _json(rows)})


class OpenAdoption(NamedTuple):
    """An adoption by another region whose effect here is not handled yet."""

    origin_region: str
    job_id: str
    tenant: str
    federation_id: str
    enqueued_at: datetime
    adopts_region: str
    adopts_job: str
    ours: str | None  # the job of this region that it may replace


def open_adoptions(region: str, batch: int) -> list[OpenAdoption]:
    """Lock and return unhandled adoptions, oldest first; needs a transaction."""
    return list(starmap(OpenAdoption, _rows("open_adoptions", {"region": region, "batch": batch})))


def close_adoptions(adoptions: Sequence[OpenAdoption]) -> None:
    """Mark adoptions as handled."""
    rows = [{"origin_region": one.origin_region, "job_id": one.job_id} for one in adoptions]
    _rows("close_adoptions", {"rows": _json(rows)})
