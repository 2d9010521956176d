"""Run the statements in `sql/`, one typed function each; no other module has a cursor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobs.domain.wire import jsonio
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def advance(entries: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> None:
    """Store the outcomes of occurrences; `sql/advance.sql` lists the members of the rows."""
    _rows(
        "advance",
        {"entries": jsonio.dumps(entries).decode(), "runs": jsonio.dumps(runs).decode()},
    )


class ScheduleCount(NamedTuple):
    """Schedules of a type with equal members that decide the version: see `version_said`."""

    type: str
    version: str | None
    option: str | None
    is_enabled: bool
    schedules: int


def count_schedules(job_type: str, *, looked: int) -> list[ScheduleCount]:
    """Count the schedules that make jobs of a type, over at most `looked` schedules."""
    return [
        ScheduleCount(*row)
        for row in _rows("count_schedules", {"type": job_type, "looked": looked})
    ]
