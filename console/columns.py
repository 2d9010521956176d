"""The columns of the list of jobs, which operators choose, and of exported files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from jobs.domain.access.classified import HIDDEN, classification
from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.models import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class Column:
    """A column for one fact of a job; `is_number` aligns it, `is_line` permits long text."""

    name: str
    label: str
    value: Callable[[Job], Any]  # as exported
    is_number: bool = False
    is_line: bool = False


def since(job: Job) -> tuple[str, datetime] | None:
    """Return the latest known step of a job and its time: end, due time, start or enqueue."""
    known = (
        ("ended", job.finished_at), ("due", job.due_at), ("started", job.started_at),
        ("available", job.enqueued_at),
    )  # fmt: skip
    return next(((word, at) for word, at in known if at is not None), None)


def error_of(job: Job) -> str | None:
    """Return the latest error in one line."""
    if job.error is None:
        return None
    error = orjson.loads(job.error)
    parts = (error.get("type") or error.get("code"), error.get("message"))
    return ": ".join(str(part) for part in parts if part) or None


def _version(job: Job) -> str | None:
    return None if job.version is None else str(orjson.loads(job.version))


def _tenant(job: Job) -> str | None:
    return None if job.tenant == DEFAULT_TENANT else job.tenant


def _text(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode()


def _args(job: Job) -> str:
    return HIDDEN if classification(job) else _text(job.args)


def _since(job: Job) -> datetime | None:
    found = since(job)
    return found and found[1]


_ALL = (
    Column("state", "State", lambda job: state_of(job.state).value),
    Column("queue", "Queue", lambda job: job.queue),
    Column("tenant", "Tenant", _tenant),
    Column("version", "Version", _version),
    Column("priority", "Priority", lambda job: job.priority, is_number=True),
    Column("attempt", "Attempt", lambda job: job.attempt, is_number=True),
    Column("worker", "Worker", lambda job: job.worker_id),
    Column("created", "Created", lambda job: job.created_at),
    Column("started", "Started", lambda job: job.started_at),
    Column("ended", "Ended", lambda job: job.finished_at),
    Column("since", "Latest step", _since),
    Column("error", "Error", error_of, is_line=True),
    Column("args", "Arguments", _args, is_line=True),
    Column("meta", "Meta", lambda job: _text(job.meta), is_line=True),
)
COLUMNS: Final = {column.name: column for column in _ALL}
USUAL: Final = ("state", "queue", "tenant", "priority", "attempt", "created", "since")


def chosen(given: Sequence[str], usual: Sequence[str] = USUAL) -> tuple[Column, ...]:
    """Return the named columns in their usual order; the `usual` columns without names.

    A name may have several parts, separated by commas.
    """
    names = {name for text in given for name in text.split(",")} & COLUMNS.keys()
    return tuple(column for column in _ALL if column.name in (names or usual))


def query(columns: Sequence[Column], usual: Sequence[str] = USUAL) -> dict[str, str]:
    """Return the parameters of a link for the columns; empty for the usual columns of all users."""
    names = tuple(column.name for column in columns)
    return {} if names == usual == USUAL else {"columns": ",".join(names)}
