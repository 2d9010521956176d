"""Load and run the statements in `sql/`: the only place of the core with a cursor."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from jobs import bounds
from jobs.connection_pool import borrowed, give_back, is_usable, lend
from jobs.statements import Statements
from jobs.trips import Trip

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


def begin_pooled(
    name: str, many: Sequence[Mapping[str, Any]], parts: tuple[tuple[str, str], ...] = ()
) -> Trip[list[list[Any] | Exception]]:
    """Begin a statement for each of `many` in one round trip, on a connection of the pool.

    Each run is a transaction by itself. The trip's result is its rows or its error.
    """
    lent = lend()
    try:
        trip = statements.begin_each(name, many, lent, parts)
    except BaseException:
        give_back(lent)
        raise
    return trip.at_end(lambda: give_back(lent))


def begin_one(
    name: str, params: Mapping[str, Any], parts: tuple[tuple[str, str], ...] = ()
) -> Trip[list[Any]]:
    """Begin a statement on a connection of the pool; the trip's result is its rows."""
    return begin_pooled(name, [params], parts).then(_rows_of_one)


def _rows_of_one(found: list[list[Any] | Exception]) -> list[Any]:
    (only,) = found
    if isinstance(only, Exception):
        raise only
    return only


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
