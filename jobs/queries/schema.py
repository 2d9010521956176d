"""Read and install tables and functions of the database; see services/storage/schema.py."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.migrations import _functions
from jobs.queries.base import run, run_hot

TABLES_OF_RELEASES = ["ojs_release", "ojs_function"]


class Column(NamedTuple):
    """A column of a table."""

    table: str
    name: str
    type: str  # without length
    is_required: bool  # an INSERT has to name it


class Release(NamedTuple):
    """The release of the tables."""

    version: str
    serves: str  # the oldest release whose processes may run on them


def columns(tables: Iterable[str]) -> list[Column]:
    """Return the columns of existing tables."""
    return [Column(*row) for row in run("schema_columns", {"tables": list(tables)})]


def schema_names(tables: Iterable[str]) -> set[str]:
    """Return the names of indexes, constraints and triggers of tables."""
    return {name for (name,) in run("schema_names", {"tables": list(tables)})}


def spelled(types: Iterable[str]) -> dict[str, str | None]:
    """Return PostgreSQL's names of types, without length; None: an unknown type."""
    return dict(run("schema_types", {"names": list(types)}))


def release() -> Release | None:
    """Return the release of the tables; None: 0.1.0, or there are none."""
    if len({column.table for column in columns(TABLES_OF_RELEASES)}) < len(TABLES_OF_RELEASES):
        return None
    rows = run("schema_release", {})
    return Release(*rows[0]) if rows else None


def keep_release(found: Release) -> None:
    """Store the release of the tables, in a table that must exist."""
    run("schema_keep_release", found._asdict())


def outdated_functions() -> list[str]:
    """Return the stored functions that are missing or have another source, by name."""
    present = dict(run("schema_functions", {}))
    return [name for name, digest in _functions.hashes().items() if present.get(name) != digest]


def install_functions(connection: BaseDatabaseWrapper) -> list[str]:
    """Install changed stored functions; returns their names. One transaction."""
    return _functions.install_changed(connection)


def lock_schema(own: BaseDatabaseWrapper) -> int | None:
    """Take the lock of migrations until the transaction ends; returns its holder, None: us."""
    [(is_mine, holder, _)] = run_hot("schema_lock", {}, on=own)
    return None if is_mine else int(holder or 0)


def bound_session(on: BaseDatabaseWrapper, lock_ms: int) -> None:
    """Bound the waits of a session for locks, 0: none; its statements have no time limit."""
    run_hot("schema_bound", {"lock_ms": lock_ms}, on=on)


def unbound_session(on: BaseDatabaseWrapper) -> None:
    """Restore a session's initial bounds."""
    run_hot("schema_unbound", {}, on=on)
