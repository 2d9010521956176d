"""A scratch schema: see services/scratch.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from django.db import connection

from jobs.migrations import _functions
from jobs.statements import Statements

_scratch = Statements(Path(__file__).resolve().parent.parent / "sql" / "scratch")


def make_scratch(
    name: str, tables: Sequence[str], copied: Sequence[str], unread: Sequence[str]
) -> None:
    """Move this session into a new schema with copies of tables and all functions.

    They are empty, but for those in `copied`; those that are only written there (`unread`) have no
    indexes. Removes the schemas that others
    left behind. Call `drop_scratch` whatever happens.
    """
    names = {"tables": ",".join(tables), "copied": ",".join(copied), "unread": ",".join(unread)}
    _scratch.rows("open", {"name": name, **names})
    _scratch.rows("sweep", {})
    _scratch.rows("make", {})
    _scratch.rows("shadow", {})
    with connection.cursor() as cursor:
        _functions.create(cursor)


def drop_scratch() -> None:
    """Remove the schema of this session."""
    _scratch.rows("drop", {})


def set_clock(at: datetime) -> None:
    """Let it be this time in the scratch schema."""
    _scratch.hot_rows("clock", {"at": at.isoformat()})


def set_depths(jobs: Mapping[str, int]) -> None:
    """Set how many jobs of queues are available, as folding would, in the scratch schema."""
    _scratch.rows("depths", {"queues": list(jobs), "jobs": list(jobs.values())})
