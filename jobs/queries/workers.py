"""Workers and their heartbeats."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jobs.domain.dispatch.claim import Declaration
from jobs.queries.base import run, run_hot


class Beat(NamedTuple):
    """The answer to a heartbeat; `directive` is a code of Worker.directive."""

    directive: int
    server_time: datetime
    extended: list[str]
    cancelled: list[str]
    test_directive: str | None
    # the pool the worker lives in, or empty; no change: it names another pool, or is another
    # tenant's
    conflict: str | None
    declared: Declaration | None  # its present declaration, if the heartbeat changed it


def heartbeat(params: Mapping[str, Any]) -> Beat:
    """Store a heartbeat; parameters as named in `heartbeat.sql`."""
    row = run("heartbeat", params)[0]
    extended, cancelled = ([str(i) for i in listed] for listed in row[2:4])
    declared = None if row[6] is None else Declaration(row[6], row[7])
    return Beat(row[0], row[1], extended, cancelled, row[4], row[5], declared)


def bury(silence_ms: int, batch: int) -> list[str]:
    """Mark silent workers dead; returns their ids."""
    return [row[0] for row in run("bury", {"silence_ms": silence_ms, "batch": batch})]


def forget(silence_ms: int, batch: int) -> int:
    """Remove workers that were silent for long; returns how many."""
    return len(run("forget", {"silence_ms": silence_ms, "batch": batch}))


def next_death_ms(silence_ms: int, forgotten_ms: int) -> int | None:
    """Return milliseconds until `bury`, `orphans` or `forget` may find a row; None: never."""
    params = {"silence_ms": silence_ms, "forgotten_ms": forgotten_ms}
    left: int | None = run_hot("next_death", params)[0][0]
    return left


class WorkerRow(NamedTuple):
    """One worker and how many jobs it holds; `queues`, `labels`, `declaration` are JSON text."""

    id: str
    hostname: str | None
    pid: int | None
    queues: str | None
    concurrency: int | None
    pool: str | None
    reported: int
    directive: int
    started_at: datetime
    last_heartbeat_at: datetime | None
    dead_at: datetime | None
    stopped_at: datetime | None
    active: int
    is_silent: bool
    is_draining: bool
    labels: str | None
    standing: str
    tenant: str | None
    declaration: str | None

    @property
    def rank(self) -> int:
        """Its rank in lists, before its name: ended workers come last."""
        return 2 * (self.stopped_at is not None) + (self.dead_at is not None)


def workers(params: Mapping[str, Any]) -> list[WorkerRow]:
    """Read workers by name, ended workers last; parameters as named in `workers.sql`."""
    return [WorkerRow(*row) for row in run("workers", params)]


def standings(params: Mapping[str, Any]) -> dict[str, int]:
    """Count workers by standing; parameters as named in `standings.sql`."""
    return {row[0]: int(row[1]) for row in run("standings", params)}
