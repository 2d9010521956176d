"""One typed function per statement in `sql/`: the only place of the app with a cursor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobs.domain import jsonio
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def advance(entries: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> None:
    """Store what became of occurrences; members as `sql/advance.sql` reads them."""
    _rows(
        "advance",
        {"entries": jsonio.dumps(entries).decode(), "runs": jsonio.dumps(runs).decode()},
    )


class Sending(NamedTuple):
    """Schedules of a type whose templates say the same of the version: `version_said` reads it."""

    type: str
    version: str | None
    option: str | None
    is_enabled: bool
    schedules: int


def sends(job_type: str, *, looked: int) -> list[Sending]:
    """Count the schedules that make jobs of a type."""
    return [Sending(*row) for row in _rows("sends", {"type": job_type, "looked": looked})]
