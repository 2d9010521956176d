"""Find jobs by filter: pages, and slices of bulk operations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jobs.database import connection
from jobs.queries.base import run


class Picked(NamedTuple):
    """Ids by filter, and parameters for the next page of the same statement; None: at the end."""

    ids: list[str]
    rest: dict[str, Any] | None


def pick_ready(params: Mapping[str, Any]) -> Picked:
    """Pick available jobs; parameters as named in `pick_ready.sql`."""
    ids, lane, seq = run("pick_ready", params)[0]
    return _picked(ids, None if lane is None else {"lane": lane, "seq": seq})


def pick_live(params: Mapping[str, Any]) -> Picked:
    """Pick other live jobs; parameters as named in `pick_live.sql`."""
    ids, rest = run("pick_live", params)[0]
    return _picked(ids, None if rest is None else {"before": str(rest)})


def pick_ended(params: Mapping[str, Any]) -> Picked:
    """Pick ended jobs; parameters as named in `pick_ended.sql`."""
    ids, at, rest = run("pick_ended", params)[0]
    return _picked(ids, None if rest is None else {"at": at, "before": str(rest)})


def _picked(ids: list[object], rest: dict[str, Any] | None) -> Picked:
    return Picked([str(job_id) for job_id in ids], rest)


def reserve_answer(params: Mapping[str, Any]) -> bool:
    """Reserve an idempotency key; parameters as named in `reserve_answer.sql`."""
    return bool(run("reserve_answer", params))


def dead_letters(params: Mapping[str, Any]) -> tuple[list[str], int]:
    """List discarded jobs by filter, newest first; returns ids and how many there are."""
    rows = run("dead_letters", params)
    return [str(row[0]) for row in rows], (rows[0][1] if rows else 0)


class Found(NamedTuple):
    """A search: ids in order, how many of the read rows matched, and where to continue (id, end).

    `rest` None: everything was read. `ends` are the ends of the ids, of ended jobs only.
    """

    ids: list[str]
    matched: int
    rest: str | None
    rest_at: datetime | None
    ends: list[datetime]

    def place(self, number: int) -> tuple[str, datetime | None]:
        """Return the id and the end of the `number`-th id, behind which the list continues."""
        return self.ids[number - 1], self.ends[number - 1] if self.ends else None


def find_any(params: Mapping[str, Any]) -> Found:
    """Find jobs in any state; parameters as named in `find_any.sql`."""
    return _found(run("find_any", params))


def find_live(params: Mapping[str, Any]) -> Found:
    """Find live jobs; parameters as named in `find_live.sql`."""
    return _found(run("find_live", params))


def find_ended(params: Mapping[str, Any]) -> Found:
    """Find ended jobs; parameters as named in `find_ended.sql`."""
    return _found(run("find_ended", params))


def _found(rows: list[Any]) -> Found:
    ids, matched, rest, rest_at, ends = rows[0]
    return Found([str(one) for one in ids], int(matched), rest and str(rest), rest_at, ends or [])


class DeadGroup(NamedTuple):
    """One line of the statistics of the dead letter."""

    dimension: str
    name: str
    jobs: int
    oldest_at: datetime | None
    newest_at: datetime | None


def dead_letter_stats(tenant: str | None, *, most: int, looked: int) -> list[DeadGroup]:
    """Count the dead letter by queue, type and error; see `dead_letter_stats.sql`."""
    params = {"tenant": tenant, "most": most, "looked": looked}
    return [DeadGroup(*row) for row in run("dead_letter_stats", params)]


def replayable(params: Mapping[str, Any]) -> list[str]:
    """Find dead jobs that a rule retries now; parameters as named in `replayable.sql`."""
    return [str(row[0]) for row in run("replayable", params)]


def lock_replay_rules() -> None:
    """Lock the replacement of replay rules until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE ojs_replay_rule IN SHARE ROW EXCLUSIVE MODE")
