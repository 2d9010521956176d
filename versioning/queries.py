"""One typed function per statement in `sql/`: the only place of the app with a cursor."""

from pathlib import Path

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows
