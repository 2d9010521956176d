"""Statements on jobs that do not run: due, expired, cancelled, revived, moved, removed."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from jobs.queries.base import as_json, run, run_hot
from jobs.queries.undo import run_kept


def promote(batch: int) -> int:
    """Make due jobs available; returns how many."""
    return int(run("promote", {"batch": batch})[0][0])


class Discarded(NamedTuple):
    """A job that was discarded while it waited, and the state code it left."""

    id: str
    queue: str
    type: str
    tenant: str
    attempt: int
    previous: int
    watched: bool


def discard(batch: int) -> list[Discarded]:
    """Discard expired jobs."""
    return list(starmap(Discarded, run("discard", {"batch": batch})))


class Ended(NamedTuple):
    """A job that was cancelled and the state code it left.

    `has_checkpoint`: it may have a checkpoint, or a parent that waits for it.
    """

    id: str
    previous: int
    queue: str
    type: str
    tenant: str
    attempt: int
    has_checkpoint: bool


def cancel(
    ids: Sequence[str], actor: str, reason: str | None, *, watched: bool, active: bool = True
) -> list[Ended]:
    """Cancel live jobs, active ones if asked; jobs that just moved are absent: call again."""
    rows = run_kept(
        "cancel",
        {"ids": list(ids), "actor": actor, "reason": reason, "watched": watched, "active": active},
    )
    return [Ended(*row[:7]) for row in rows]


def waiting(ids: Sequence[str]) -> list[str]:
    """Return the ids of waiting jobs."""
    return [row[0] for row in run("waiting", {"ids": list(ids)})]


def activate(job_id: str) -> int | None:
    """Start a pending job; returns its new state code, None when it was not pending."""
    rows = run("activate", {"id": job_id})
    return int(rows[0][1]) if rows else None


def revive(jobs_json: bytes, states: Iterable[int]) -> list[str]:
    """Make ended jobs available, `jobs` as in `revive.sql`; returns the ids of revived jobs.

    Raises DatabaseError OJS01 when a lane was deleted.
    """
    rows = run_kept("revive", {"jobs": jobs_json.decode(), "states": list(states)})
    return [str(row[0]) for row in rows]


def hasten(ids: Sequence[str]) -> list[str]:
    """Make retryable jobs available now; returns the ids of changed jobs."""
    return [str(row[0]) for row in run_kept("hasten", {"ids": list(ids)})]


def remove(
    ids: Sequence[str], states: Iterable[int], *, pruned: bool = False, archive: bool = False
) -> list[str]:
    """Delete jobs that ended in one of these states; returns their ids."""
    given = {"ids": list(ids), "states": list(states), "pruned": pruned, "archive": archive}
    return [row[0] for row in run_kept("remove", given)]


def reprioritize(job_id: str, lane_id: int, priority: int, actor: str) -> bool:
    """Move a waiting job to another lane; False when it no longer waits.

    Raises DatabaseError OJS01 when the lane was deleted.
    """
    params = {"id": job_id, "lane_id": lane_id, "priority": priority, "actor": actor}
    return bool(run_kept("reprioritize", params))


def move(jobs: Sequence[Mapping[str, Any]], left: str, queue: str) -> set[str]:
    """Move waiting jobs to another queue; returns the jobs that were still in their lanes.

    `jobs` as named in `move.sql`.
    """
    rows = run_kept("move", {"jobs": as_json(jobs), "left": left, "queue": queue})
    return {row[0] for row in rows}


def reroute(jobs: Sequence[Mapping[str, Any]]) -> set[str]:
    """Move waiting jobs to other lanes; returns the jobs that were still in their lanes.

    `jobs` as named in `reroute.sql`.
    """
    return {row[0] for row in run("reroute", {"jobs": as_json(jobs)})}


def next_due_ms() -> int | None:
    """Return milliseconds until the next waiting job is due; None: none, or maintenance."""
    rows = run_hot("next_due", {})
    return int(rows[0][0]) if rows else None


def next_expiry_ms() -> int | None:
    """Return milliseconds until the next waiting job expires; None: none does."""
    left: int | None = run_hot("next_expiry", {})[0][0]
    return left
