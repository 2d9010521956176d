"""Load and run the statements in `sql/`: the only place of the core with a cursor."""

from pathlib import Path

import orjson

from jobs.statements import Statements

statements = Statements(Path(__file__).resolve().parent.parent / "sql")

run, run_hot = statements.rows, statements.hot_rows


def as_json(rows: object) -> str:
    return orjson.dumps(rows).decode()
