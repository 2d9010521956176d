"""Load and run the statements in `sql/`: the only place of the core with a cursor."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from jobs import bounds
from jobs.connection_pool import borrowed, is_usable
from jobs.statements import Statements

statements = Statements(Path(__file__).resolve().parent.parent / "sql")

run, run_hot = statements.rows, statements.hot_rows


def run_pooled(
    name: str, params: Mapping[str, Any], parts: tuple[tuple[str, str], ...] = ()
) -> list[Any]:
    """Run a statement of a request on a connection of the pool, where it is planned once."""
    if not (bounds.serves_requests() and is_usable()):
        return run_hot(name, params, parts)
    with borrowed() as lent:
        return run_hot(name, params, parts, lent)


def run_pooled_each(name: str, many: Sequence[Mapping[str, Any]]) -> list[list[Any] | Exception]:
    """Run a statement for each of `many` in one round trip, on a connection of the pool.

    Each run is a transaction by itself. Returns its rows or its error.
    """
    with borrowed() as lent:
        return statements.hot_rows_each(name, many, lent)


def array(values: Iterable[object] | None) -> str | None:
    """Return a list of texts, numbers or nulls as an array's literal; psycopg takes longer."""
    return None if values is None else f"{{{','.join(map(_element, values))}}}"


def _element(value: object) -> str:
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    return "NULL" if value is None else repr(value)


def as_json(rows: object) -> str:
    return orjson.dumps(rows).decode()
