"""A scratch schema: see services/upkeep/scratch.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from jobs.database import connection
from jobs.migrations import _functions
from jobs.queries.base import run, run_hot


def make_scratch(
    name: str, tables: Sequence[str], copied: Sequence[str], unread: Sequence[str]
) -> None:
    """Move this session into a new schema with copies of tables and all functions.

    They are empty, except the tables in `copied`. Tables in `unread` are only written, and have no
    indexes. Removes schemas left behind by other sessions. Call `drop_scratch` in any case.
    """
    names = {"tables": ",".join(tables), "copied": ",".join(copied), "unread": ",".join(unread)}
    run("scratch_open", {"name": name, **names})
    run("scratch_sweep", {})
    run("scratch_make", {})
    run("scratch_shadow", {})
    with connection.cursor() as cursor:
        _functions.create(cursor)


def drop_scratch() -> None:
    """Remove the schema of this session."""
    run("scratch_drop", {})


def set_clock(at: datetime) -> None:
    """Set the clock of the scratch schema."""
    run_hot("scratch_clock", {"at": at.isoformat()})


def set_depths(jobs: Mapping[str, int]) -> None:
    """Set the available jobs of queues as aggregation would, in the scratch schema."""
    run("scratch_depths", {"queues": list(jobs), "jobs": list(jobs.values())})
