"""One typed function per statement in `sql/` that charts and the pages of types read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from jobs.domain.record.periods import coarsest
from jobs.services.record.rates import Spell
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def chart_rows(most: int, tenant: str | None) -> int:
    """Count the rows that store the counts of one hour in one span, up to `most` of each table."""
    return int(_rows("chart_rows", {"most": most, "tenant": tenant})[0][0])


class Step(NamedTuple):
    """The counts of one step that begins at `at`; `failed` counts attempts."""

    at: datetime
    enqueued: int
    completed: int
    failed: int
    started: int
    wait_ms: int  # sum over the started jobs
    run_ms: int  # sum over the completed jobs


def type_history(spell: Spell, job_type: str) -> list[Step]:
    """Sum the counts of a type per step; empty steps are absent."""
    found = _rows("type_history", {**_bounds(spell), "type": job_type})
    return [Step(*row) for row in found]


class TypeCounts(NamedTuple):
    """The counts of a job type; `failed` counts attempts."""

    type: str
    enqueued: int
    started: int
    completed: int
    failed: int
    discarded: int
    wait_ms: int  # sum over the started jobs
    run_ms: int  # sum over the completed jobs
    queues: int

    @property
    def error_rate(self) -> float | None:
        """Return the share of failed attempts; None if no attempt ended."""
        ended = self.completed + self.failed
        return self.failed / ended if ended else None

    @property
    def mean_wait_ms(self) -> float | None:
        """Return the mean wait of the started jobs."""
        return self.wait_ms / self.started if self.started else None

    @property
    def mean_run_ms(self) -> float | None:
        """Return the mean run of the completed jobs."""
        return self.run_ms / self.completed if self.completed else None


def types(spell: Spell, containing: str, sort: str, size: int) -> list[TypeCounts]:
    """Sum the counts of each job type; `sort` as named in `sql/types.sql`."""
    params = {**_bounds(spell), "containing": containing, "sort": sort, "size": size}
    return [TypeCounts(*row) for row in _rows("types", params)]


class QueueCounts(NamedTuple):
    """The counts of a type in one queue."""

    queue: str
    counts: TypeCounts


Histograms = Mapping[int, Mapping[int, int]]  # jobs by measure and index of the upper bound


def type_queues(spell: Spell, job_type: str, size: int) -> tuple[list[QueueCounts], Histograms]:
    """Sum the counts of a type by queue, the most starts first; with its histograms there."""
    queues: list[QueueCounts] = []
    found: dict[int, dict[int, int]] = {}
    for queue, *row in _rows("type_queues", {**_bounds(spell), "type": job_type, "size": size}):
        if queue is not None:
            queues.append(QueueCounts(queue, TypeCounts._make((job_type, *row, 1))))
        else:
            found.setdefault(row[0], {})[row[1]] = row[2]
    return queues, found


class RunEvent(NamedTuple):
    """A start, a completion or a failed attempt; `looked` and `back_to` describe the search."""

    at: datetime
    kind: int
    job_id: str
    tenant: str | None
    took_ms: int | None  # of a start: the wait; else the run
    looked: int
    back_to: datetime


def type_runs(job_type: str, looked: int) -> list[RunEvent]:
    """Read the runs of a type among the latest `looked` events, newest first."""
    return [RunEvent(*row) for row in _rows("type_runs", {"type": job_type, "looked": looked})]


class ErrorGroup(NamedTuple):
    """Failed attempts with equal errors; `looked` and `back_to` describe the search."""

    fingerprint: str
    error_type: str
    message: str  # of the latest
    attempts: int
    lately: int  # in the last hour
    first_at: datetime
    last_at: datetime
    looked: int
    back_to: datetime


def type_errors(job_type: str, looked: int, size: int) -> list[ErrorGroup]:
    """Group the failed attempts of a type among the latest `looked` of all types."""
    params = {"type": job_type, "looked": looked, "size": size}
    return [ErrorGroup(*row) for row in _rows("type_errors", params)]


class TypeWorker(NamedTuple):
    """A live worker that accepts a type; `total` is the number of all such workers."""

    id: str
    hostname: str | None
    pool: str | None
    started_at: datetime
    total: int


def type_workers(
    queues: Sequence[str], declared: Sequence[int], silence_ms: int, size: int, *, bare: bool
) -> list[TypeWorker]:
    """List live workers of queues by declaration; `bare`: also workers without a declaration."""
    params = {
        "queues": list(queues), "declared": list(declared), "bare": bare,
        "silence_ms": silence_ms, "size": size,
    }  # fmt: skip
    return [TypeWorker(*row) for row in _rows("type_workers", params)]


class Change(NamedTuple):
    """A change that explains a chart: an entry of the audit log, or the start of a build."""

    at: datetime
    action: str
    target: str
    actor: str
    reason: str | None
    workers: int


def marks(**wanted: Any) -> list[Change]:
    """Read changes, newest first; parameters as named in `sql/marks.sql`."""
    return [Change(*row) for row in _rows("marks", wanted)]


def _bounds(spell: Spell) -> dict[str, Any]:
    return {
        "span_s": coarsest(spell.period_s), "period_s": spell.period_s,
        "since": spell.since, "until": spell.until,
    }  # fmt: skip
