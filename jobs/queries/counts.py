"""Counts aggregated from events, and their drift."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jobs.database import connection
from jobs.domain.lanes.objective import Objective
from jobs.domain.record.dispatches import Started
from jobs.domain.record.objective import BY_MINUTE_S, OBJECTIVE_SPANS, Window
from jobs.domain.record.periods import BY_SECOND_MS, DISPATCH_SPANS, SPANS
from jobs.queries.base import as_json, run, run_hot


def aggregate_events(
    batch: int, wait_bounds: Iterable[float], run_bounds: Iterable[float], tenants: int = 0
) -> int:
    """Add new events to the counts; returns how many; bounds in seconds.

    At most `tenants` tenants get a label of their own in metrics.
    """
    params = {
        "batch": batch,
        "wait_bounds": [bound * 1000.0 for bound in wait_bounds],
        "run_bounds": [bound * 1000.0 for bound in run_bounds],
        "spans": list(SPANS),
        "dispatch_spans": list(DISPATCH_SPANS),
        "objective_spans": list(OBJECTIVE_SPANS),
        "tenants": tenants,
    }
    aggregated, is_placed = run("aggregate_events", params)[0]
    if not is_placed:
        run("aggregate_from_start", {})
    return int(aggregated)


def has_unread() -> bool:
    """Return whether events wait for the aggregation, or its position is not set yet."""
    return bool(run_hot("has_unread", {})[0][0])


class Drift(NamedTuple):
    """A count that differs from the jobs by `excess`: too many, or too few if negative."""

    table: str
    queue: str
    excess: int  # jobs; bytes in ojs_queue_size
    tenant: str | None = None  # of ojs_tenant_depth
    state: int | None = None  # null: all waiting jobs


def lock_counts() -> None:
    """Lock the comparison of counts until the transaction ends; waits for another one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(20266617, 0)")


def drifts() -> list[Drift]:
    """Return the counts of live jobs, by queue and by tenant, that differ from the jobs."""
    return [
        Drift("ojs_depth" if tenant is None else "ojs_tenant_depth", queue, excess, tenant, state)
        for tenant, queue, state, excess in run("drifts", {})
    ]


def size_drifts(most: int | None) -> list[Drift]:
    """Return the sizes that differ from the jobs; none where `most` jobs wait or more."""
    return [Drift("ojs_queue_size", *row) for row in run("size_drifts", {"most": most})]


def amend(drifts: Iterable[Drift]) -> int:
    """Subtract drifts from the counts; returns how many."""
    given = as_json([drift._asdict() for drift in drifts])
    return int(run("amend", {"drifts": given})[0][0])


class Counted(NamedTuple):
    """The counts of a queue's jobs; `failed` counts attempts."""

    completed: int = 0
    failed: int = 0
    started: int = 0
    wait_ms: int = 0
    run_ms: int = 0


def minutes(
    queues: Sequence[str] | None, since_minutes: int, tenant: str | None = None
) -> dict[str, Counted]:
    """Sum the last minutes of queues, with a tenant its own jobs; idle queues are absent."""
    params: dict[str, Any] = {
        "queues": list(queues) if queues is not None else None, "minutes": since_minutes,
    }  # fmt: skip
    if tenant is None:
        return {row[0]: Counted(*row[1:]) for row in run("minutes", params)}
    return {row[0]: Counted(*row[1:]) for row in run("tenant_minutes", params | {"tenant": tenant})}


def dispatches(
    window_ms: int, queues: Sequence[str] | None, pool: str | None
) -> dict[str, Started]:
    """Count the started jobs of each queue in the window that ends now; idle queues are absent."""
    params = {
        "window_ms": window_ms, "by_second_ms": BY_SECOND_MS, "pool": pool,
        "queues": None if queues is None else list(queues),
    }  # fmt: skip
    return {queue: Started(*rest) for queue, *rest in run("dispatches", params)}


def label_depths(most: int) -> list[tuple[str, str, int, int]]:
    """Return jobs by tenant label, for `most` tenants, by queue and state."""
    found = run("label_depths", {"most": most})
    return [(tenant, queue, state, int(jobs)) for tenant, queue, state, jobs in found]


class Span(NamedTuple):
    """The counts of one period that begins at `at`; `failed` counts attempts."""

    at: datetime
    enqueued: int
    completed: int
    failed: int
    started: int
    wait_ms: int
    run_ms: int


def history(params: Mapping[str, Any]) -> list[Span]:
    """Sum counts per period; parameters as named in `history.sql`, a tenant's with `tenant`."""
    rows = run("tenant_history", params) if "tenant" in params else run("history", params)
    return [Span(*row) for row in rows]


def latency_history(params: Mapping[str, Any]) -> dict[datetime, dict[int, int]]:
    """Sum latencies per period: jobs by bucket."""
    found: dict[datetime, dict[int, int]] = {}
    for at, bucket, number in run("latency_history", params):
        found.setdefault(at, {})[bucket] = int(number)
    return found


def latencies(queues: Sequence[str], minutes: int) -> dict[str, dict[int, int]]:
    """Read the latencies of queues: jobs by bucket."""
    found: dict[str, dict[int, int]] = {}
    for queue, bucket, number in run("latencies", {"queues": list(queues), "minutes": minutes}):
        found.setdefault(queue, {})[bucket] = int(number)
    return found


def objective_windows(queue: str, within_ms: int, windows: Sequence[int]) -> list[Window]:
    """Count the started and late jobs of a queue in windows of seconds that end now."""
    params = {
        "queue": queue, "within_ms": within_ms, "windows": list(windows),
        "by_minute_s": BY_MINUTE_S,
    }  # fmt: skip
    return [Window(*row) for row in run("objective_windows", params)]


class JudgedQueue(NamedTuple):
    """A queue with an objective, and its starts since it had one."""

    name: str
    objective: Objective
    started: int
    late: int


def objectives() -> list[JudgedQueue]:
    """Return the queues with an objective, by name."""
    return [
        JudgedQueue(name, Objective(within_ms, percent), int(started), int(late))
        for name, within_ms, percent, started, late in run("objectives", {})
    ]
