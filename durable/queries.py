"""One typed function per statement in `sql/`: the only module of this app with a cursor."""

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from jobs.statements import Statements

_statements = Statements(Path(__file__).resolve().parent / "sql")
_rows, _hot_rows = _statements.rows, _statements.hot_rows


class Saved(NamedTuple):
    """A stored checkpoint, and the kind of its job."""

    sequence: int
    created_at: datetime
    queue: str
    type: str


def save(params: Mapping[str, Any]) -> Saved | None:
    """Store a checkpoint; parameters as named in `sql/save.sql`. None: the job may not have it."""
    rows = _hot_rows("save", params)
    return Saved(*rows[0][:4]) if rows else None


class Dropped(NamedTuple):
    """A job that had a checkpoint, or that ended and has a parent.

    `state` is the checkpoint of an ended job with steps that are cancelled with it.
    """

    job_id: str
    state: str | None
    parent: str | None


def drop(ids: Collection[str], *, ended: bool = False, only_state: bool = False) -> list[Dropped]:
    """Delete checkpoints, signals and waits; parameters as named in `sql/drop.sql`."""
    given = {"ids": list(ids), "ended": ended, "only_state": only_state}
    return [Dropped(str(row[0]), row[1], row[2]) for row in _rows("drop", given)]


class Swept(NamedTuple):
    """Numbers of jobs; `last` is the last one looked at, None without one."""

    deleted: int
    looked: int
    last: str | None


def sweep(after: str, batch: int) -> Swept:
    """Delete the rows of jobs that are gone or have ended."""
    return Swept(*_rows("sweep", {"after": after, "batch": batch})[0])


class Locked(NamedTuple):
    """A job's row; `state` is None while it is live."""

    state: int | None
    queue: str
    type: str
    tenant: str


def lock(job_id: str) -> Locked | None:
    """Lock a job's row for the transaction of the caller."""
    rows = _rows("lock", {"id": job_id})
    return Locked(*rows[0]) if rows else None


def hold(job_id: str) -> None:
    """Lock the row with which a job waits, for the transaction of the caller."""
    _rows("hold", {"id": job_id})


class Sent(NamedTuple):
    """A stored signal; `wakes`: the job is suspended until such a signal."""

    id: int
    sent_at: datetime
    wakes: bool


def signal(job_id: str, name: str, payload: str, sender: str, most: int) -> Sent | None:
    """Store a signal; None: the job has too many."""
    given = {"id": job_id, "name": name, "payload": payload, "sender": sender, "most": str(most)}
    rows = _rows("signal", given)
    return Sent(*rows[0]) if rows else None


def note_wait(params: Mapping[str, Any]) -> bool:
    """Note the wait of a job; returns whether it is over already."""
    return bool(_rows("note_wait", params)[0][0])
