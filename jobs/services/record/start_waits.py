"""Read how long jobs waited for their start in a part of the event record."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobs import queries
from jobs.services.record.events import LEEWAY

LOOKED: Final = 100_000  # events; each job has several


@dataclass(frozen=True, slots=True)
class Waits:
    """The starts of a queue or tenant, their part of all starts, and their waits in ms."""

    starts: int
    share: float
    p50_ms: int
    p95_ms: int
    p99_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class StartWaits:
    """The starts of a time, by queue and by tenant; those without a start are absent.

    `is_cut`: there are more events than were read, so only the latest starts count.
    """

    starts: int
    queues: Mapping[str, Waits]
    tenants: Mapping[str, Waits]
    is_cut: bool


def start_waits(since: datetime, until: datetime, *, looked: int = LOOKED) -> StartWaits:
    """Return the starts from `since` to before `until`, each attempt once; three statements."""
    low, high = queries.stamp_at(since - LEEWAY), queries.stamp_at(until + LEEWAY)
    rows = queries.start_waits((low, high), (since, until), looked)
    total = next(row for row in rows if row.part == "total")
    parts: dict[str, dict[str, Waits]] = {"queues": {}, "tenants": {}, "total": {}}
    for row in rows:
        if row.waits:
            parts[row.part][row.name] = Waits(row.starts, row.starts / total.starts, *row.waits)
    return StartWaits(total.starts, parts["queues"], parts["tenants"], total.is_cut)
