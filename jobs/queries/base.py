"""Load and run the statements in `sql/`: the only place of the core with a cursor."""

from collections.abc import Mapping
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


def as_json(rows: object) -> str:
    return orjson.dumps(rows).decode()
