"""Statements that remove rows after their retention."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

from jobs.queries.base import as_json, run
from jobs.queries.events import Seen


class Prunable(NamedTuple):
    """An ended job to remove under rule `n`, by its age or else by the number of newer jobs."""

    n: int
    id: str
    finished_at: datetime
    is_old: bool
    held: bool  # locked by this transaction; otherwise another transaction has it
    watched: bool


def prunable(rules: Sequence[Mapping[str, Any]], batch: int) -> list[Prunable]:
    """Lock ended jobs that have to go; members of a rule as in `prunable.sql`."""
    found = run("prunable", {"rules": as_json(rules), "batch": batch})
    return list(starmap(Prunable, found))


class PrunedEvents(NamedTuple):
    """Removed events: how many, how many of them were unread, and the last position."""

    removed: int
    unread: int
    place: Seen


def prune_events(params: Mapping[str, Any], behind: Seen) -> PrunedEvents:
    """Remove the oldest events behind a position; parameters as named in `prune_events.sql`."""
    rows = run("prune_events", {**params, "stamp": behind[0], "seq": behind[1]})
    if not rows:
        return PrunedEvents(0, 0, behind)
    removed, unread, stamp, seq = rows[0]
    return PrunedEvents(removed, unread, (stamp, seq))


def prune_periods(span_s: int, age_ms: int, batch: int) -> int:
    """Remove old counts of periods of a span; returns the number of the table with the most."""
    given = {"span_s": span_s, "age_ms": age_ms, "batch": batch}
    return int(run("prune_periods", given)[0][0])


def prune_audit(age_ms: int, batch: int) -> int:
    """Remove old entries of the audit log; returns how many."""
    return int(run("prune_audit", {"age_ms": age_ms, "batch": batch})[0][0])


def prune_config_changes(age_ms: int, batch: int) -> int:
    """Remove old changes of the configuration; returns how many."""
    return len(run("prune_config_changes", {"age_ms": age_ms, "batch": batch}))


def expire_results(batch: int) -> int:
    """Delete results whose time is over; returns how many."""
    return int(run("expire_results", {"batch": batch})[0][0])
