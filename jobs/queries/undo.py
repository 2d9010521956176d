"""Statements of undo: the records that an operation leaves, and the ways back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

from jobs.queries.base import as_json, run, statements

_operation: ContextVar[int | None] = ContextVar("ojs_undo", default=None)


@contextmanager
def keeping(operation: int | None) -> Iterator[None]:
    """Let every change of jobs in the block leave a record of this operation; None: no record."""
    token = _operation.set(operation)
    try:
        yield
    finally:
        _operation.reset(token)


def kept() -> int | None:
    """Return the operation whose changes leave records now."""
    return _operation.get()


def run_kept(name: str, params: Mapping[str, Any]) -> list[Any]:
    """Run a change of jobs; an operator's change keeps in the same statement what the jobs were.

    Every statement by which operators change jobs must run here: an operation cannot leave its
    records out.
    """
    operation = kept()
    if operation is None:
        return run(name, params)
    text = statements.text(f"before_{name}") + "\n" + statements.text("keep")
    return run(name, {**params, "undo": operation}, parts={"kept": text})


class Kept(NamedTuple):
    """The record of a job in an operation, and the job as it is now."""

    job_id: str
    was: int
    queue: str
    priority: int
    lane_id: int
    left_state: int | None  # the state that the operation left; None: deleted
    left_at: datetime
    left_lane: int | None
    expires_at: datetime | None
    is_gone: bool
    state: int | None  # now; None: there is no such job
    finished_at: datetime | None
    ran: bool
    tenant: str | None
    type: str | None
    watched: bool
    attempt: int | None
    lane_now: int | None
    enqueued_at: datetime | None
    fingerprint: str | None


def undo_next(operation: int, size: int) -> list[Kept]:
    """Return the next records without an outcome."""
    return list(starmap(Kept, run("undo_next", {"undo": operation, "size": size})))


def undo_lock(operation: int, *, most_jobs: int, most_bytes: int) -> tuple[str, bool] | None:
    """Lock an operation in the caller's transaction; return its state, None if it is gone.

    The second value states that it may keep no more records.
    """
    params = {"undo": operation, "most_jobs": most_jobs, "most_bytes": most_bytes}
    rows = run("undo_lock", params)
    return (rows[0][0], bool(rows[0][1])) if rows else None


def undo_remove(operation: int, ids: Sequence[str]) -> list[str]:
    """Store deleted jobs again; returns their ids."""
    given = {"undo": operation, "ids": list(ids)}
    return _ids(run("undo_remove", given))


def undo_revive(operation: int, ids: Sequence[str]) -> list[str]:
    """End jobs again that the operation retried; returns the ids of changed jobs."""
    return _ids(run("undo_revive", {"undo": operation, "ids": list(ids)}))


def undo_null_results(operation: int, ids: Sequence[str]) -> None:
    """Give restored jobs the result null where they had it."""
    run("undo_null_results", {"undo": operation, "ids": list(ids)})


def undo_cancel(operation: int, lanes: Mapping[str, int]) -> list[str]:
    """Let cancelled jobs wait again in these lanes; returns the ids of changed jobs.

    Raises DatabaseError OJS01 when a lane was deleted, as the next two functions do.
    """
    return _ids(run("undo_cancel", {"undo": operation, "jobs": _placed(lanes)}))


def undo_hasten(operation: int, lanes: Mapping[str, int]) -> list[str]:
    """Let jobs that the operation started early wait for their times again."""
    return _ids(run("undo_hasten", {"undo": operation, "jobs": _placed(lanes)}))


def undo_place(operation: int, lanes: Mapping[str, int], actor: str) -> list[str]:
    """Move jobs back to the lanes that they left, with their queues and priorities."""
    return _ids(run("undo_place", {"undo": operation, "jobs": _placed(lanes), "actor": actor}))


def _placed(lanes: Mapping[str, int]) -> str:
    return as_json([{"id": job_id, "lane": lane} for job_id, lane in sorted(lanes.items())])


def undo_duplicates(fingerprints: Sequence[str]) -> dict[str, set[str]]:
    """Return the live jobs by fingerprint; locks the fingerprints until the commit."""
    found: dict[str, set[str]] = {}
    keys = sorted(set(fingerprints))
    if keys:
        for key, job_id in run("undo_duplicates", {"keys": keys}):
            found.setdefault(key, set()).add(str(job_id))
    return found


def undo_mark(operation: int, outcomes: Mapping[str, str]) -> None:
    """Store the outcomes of jobs, and count them."""
    run("undo_mark", {"undo": operation, "outcomes": as_json(dict(outcomes))})


def undo_forget(batch: int) -> int:
    """Delete records whose time is over, at most `batch`; returns how many rows are gone."""
    return int(run("undo_forget", {"batch": batch})[0][0])


class Touched(NamedTuple):
    """Jobs of a tenant that an operation would change."""

    tenant: str
    jobs: int
    oldest_at: datetime
    newest_at: datetime


def touched(ids: Sequence[str]) -> list[Touched]:
    """Count jobs by tenant, most first."""
    return list(starmap(Touched, run("touched", {"ids": list(ids)}))) if ids else []


def _ids(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [str(row[0]) for row in rows]
