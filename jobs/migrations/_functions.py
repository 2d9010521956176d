"""Installs the stored functions by content: the database keeps the hash of each source.

The sources are `sql/functions/**/*.sql`: one function each, named as its file, and `types.sql` with
the composite types that functions pass on. No table may use one of these types: PostgreSQL cannot
replace a type, so a changed `types.sql` drops all of them with their functions and makes them anew.

`manage.py migrate` calls `install_changed` after every run, so no migration has to name functions.
If the present functions cannot use the tables of a migration, the migration names the functions
that it needs with `InstallFunctions`. It installs them in its own transaction.
"""

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import router, transaction
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.utils import ProgrammingError
from psycopg.errors import InvalidFunctionDefinition

FOLDER = Path(__file__).resolve().parent.parent / "sql" / "functions"
FIRST = ("ojs_audit_kept",)  # a trigger of 0003_access uses it
TYPES = "ojs_types"  # under this name the hash of types.sql is kept

# bodies are not checked when a function is made: they may name tables of later migrations, and
# functions that come after them in the order of names
UNCHECKED = "SET LOCAL check_function_bodies = off"
OURS = """
SELECT p.proname, p.oid::regprocedure::text FROM pg_proc AS p
 WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
   AND starts_with(p.proname, 'ojs_')
   AND NOT EXISTS (SELECT FROM pg_depend AS d
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
 ORDER BY 1, 2
"""
OUR_TYPES = """
SELECT t.typname FROM pg_type AS t JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c'
 WHERE t.typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
   AND starts_with(t.typname, 'ojs_') ORDER BY 1
"""
USERS_OF_TYPES = """
SELECT DISTINCT d.objid::regprocedure::text FROM pg_type AS t
  JOIN pg_depend AS d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
 WHERE t.typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
   AND t.typname = ANY (%s) AND d.classid = 'pg_proc'::regclass
"""
KEPT = "SELECT name, hash FROM ojs_function"
KEEP = """
INSERT INTO ojs_function (name, hash) VALUES (%s, %s)
ON CONFLICT (name) DO UPDATE SET hash = excluded.hash
"""
FORGET = "DELETE FROM ojs_function WHERE NOT name = ANY (%s)"


@cache
def sources() -> dict[str, str]:
    """Return the sources of all functions by name."""
    found = sorted(FOLDER.rglob("*.sql"), key=lambda path: path.stem)
    return {f"ojs_{path.stem}": path.read_text() for path in found if path.stem != "types"}


@cache
def types() -> str:
    """Return the source of the composite types."""
    return (FOLDER / "types.sql").read_text()


def named_types() -> list[str]:
    """Return the names of the composite types."""
    return re.findall(r"^CREATE TYPE (\w+)", types(), re.MULTILINE)


@cache
def hashes() -> dict[str, str]:
    """Return the hashes of all sources by the function's name, and that of the types."""
    named = {TYPES: types(), **sources()}
    return {name: sha256(text.encode()).hexdigest() for name, text in named.items()}


def create(cursor: Any) -> None:
    """Make every type and function in the schema that the session's search path begins with."""
    cursor.execute("SET check_function_bodies = off")
    cursor.execute(types())
    for text in sources().values():
        cursor.execute(text)


def install_changed(connection: Any) -> list[str]:
    """Make the functions that differ from their sources and drop functions without a source.

    Returns the names, with `-` before a dropped name. One transaction. Only functions of the first
    schema of the search path count.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        made = _make_changed(cursor, sources())
        dropped = [name for name, _ in _signatures(cursor) if name not in sources()]
        for name in set(dropped):
            _drop(cursor, _named(cursor, name))
        cursor.execute(FORGET, [list(hashes())])
    return [*made, *(f"-{name}" for name in dropped)]


class InstallFunctions(Operation):
    """Make the named functions in the migration's transaction, as their sources are today.

    It skips a name that a later release has dropped.
    """

    reduces_to_sql = False
    reversible = True
    category = OperationCategory.PYTHON

    def __init__(self, *names: str) -> None:
        """Name functions, such as `ojs_claim_jobs`."""
        self.names = names

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change no model."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Make the named functions that differ from their sources."""
        connection = schema_editor.connection
        if not router.allow_migrate(connection.alias, app_label):
            return
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            _make_changed(cursor, [name for name in self.names if name in sources()])

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Leave them: the sources of an earlier release are not here."""

    def describe(self) -> str:
        """Describe the operation."""
        return f"Install the functions {', '.join(self.names)}"


def install(_apps: Any, schema_editor: Any) -> None:
    """Make the functions that the next migrations of release 0.1.0 use. Called by 0002_storage."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(UNCHECKED)
        for name in FIRST:
            cursor.execute(sources()[name])


def remove(_apps: Any, schema_editor: Any) -> None:
    """Drop every function and type."""
    with schema_editor.connection.cursor() as cursor:
        _drop(cursor, [signature for _, signature in _signatures(cursor)])
        _drop_types(cursor)


def _make_changed(cursor: Any, names: Iterable[str]) -> list[str]:
    cursor.execute(UNCHECKED)
    cursor.execute(KEPT)
    kept = dict(cursor.fetchall())
    renewed = _renew_types(cursor, kept.get(TYPES))
    present = [name for name, _ in _signatures(cursor)]
    changed = [
        name
        for name in dict.fromkeys([*renewed, *names])
        if name in renewed or kept.get(name) != hashes()[name] or present.count(name) != 1
    ]
    for name in changed:
        _make(cursor, name)
        cursor.execute(KEEP, [name, hashes()[name]])
    return changed


def _renew_types(cursor: Any, kept: str | None) -> list[str]:
    """Replace the types if they differ; return the functions to replace, which name a type.

    A function that names a type only in its body counts too: sessions keep it compiled for the old
    type.
    """
    if kept == hashes()[TYPES] and set(_present_types(cursor)) == set(named_types()):
        return []
    _drop_types(cursor)
    cursor.execute(types())
    cursor.execute(KEEP, [TYPES, hashes()[TYPES]])
    names = re.compile(rf"\b(?:{'|'.join(named_types())})\b")
    return [name for name, text in sources().items() if names.search(text)]


def _present_types(cursor: Any) -> list[str]:
    cursor.execute(OUR_TYPES)
    return [name for (name,) in cursor.fetchall()]


def _drop_types(cursor: Any) -> None:
    """Drop the types and the functions whose signatures name one; fails if a table uses one."""
    present = _present_types(cursor)
    if present:
        cursor.execute(USERS_OF_TYPES, [present])
        _drop(cursor, [signature for (signature,) in cursor.fetchall()])
        cursor.execute(f"DROP TYPE {', '.join(present)}")


def _make(cursor: Any, name: str) -> None:
    """Make one function, and drop all other functions of its name, with any arguments."""
    before = _named(cursor, name)
    if len(before) > 1 or not _is_made(cursor, name):
        _drop(cursor, before)
        cursor.execute(sources()[name])
        return
    after = _named(cursor, name)
    if len(after) > 1:
        _drop(cursor, before)


def _is_made(cursor: Any, name: str) -> bool:
    """Create or replace a function; False where its result or names of arguments have changed."""
    try:
        with transaction.atomic(using=cursor.db.alias):
            cursor.execute(sources()[name])
    except ProgrammingError as problem:
        if isinstance(problem.__cause__, InvalidFunctionDefinition):
            return False
        raise
    return True


def _signatures(cursor: Any) -> list[tuple[str, str]]:
    cursor.execute(OURS)
    found: list[tuple[str, str]] = cursor.fetchall()
    return found


def _named(cursor: Any, name: str) -> list[str]:
    return [signature for known, signature in _signatures(cursor) if known == name]


def _drop(cursor: Any, signatures: Iterable[str]) -> None:
    for signature in signatures:
        cursor.execute(f"DROP ROUTINE {signature}")
