"""One typed function per statement in `sql/`: the only place of the app with a cursor."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.domain.claim import UNDECLARED, Declaration
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Declared(NamedTuple):
    """Workers that declared the same; those that only fetch are not known to live."""

    declaration: Declaration
    workers: int
    unheard: int


def declarations(queue: str | None, silence_ms: int) -> list[Declared]:
    """Return what workers that run have declared, of those that may fetch a queue; None: any."""
    return [
        Declared(Declaration(row[0], row[1]) if row[0] else UNDECLARED, row[2], row[3])
        for row in _rows("declarations", {"queue": queue, "silence_ms": silence_ms})
    ]


class Waiting(NamedTuple):
    """Available jobs of a route in a queue."""

    route: int
    queue: str
    jobs: int
    now: datetime


def waiting(routes: Sequence[int], *, most: int, lanes: int) -> list[Waiting]:
    """Count what waits, up to bounds; routes in order, the deepest queue first."""
    params = {"routes": list(routes), "most": most, "lanes": lanes}
    return [Waiting(*row) for row in _rows("waiting", params)]


def active(routes: Sequence[int]) -> dict[int, int]:
    """Count what runs by route."""
    return dict(_rows("active", {"routes": list(routes)}))
