"""Collect all alerts for operators, of the core and of the extensions."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db.models import DateTimeField, F, QuerySet, TextField, Value
from django.db.models.functions import Cast, JSONObject

from jobs.domain.record.alerts import Alert, Noted
from jobs.extensions import Alerts, NotedRows, ReportHooks, implementers
from jobs.queries import Vitals
from jobs.services.health.health import health

MOST: Final = 50  # rows of one kind


def alerts() -> list[Alert]:
    """Return all alerts; two statements without alerts, none on a table that grows with the jobs.

    Alerts of the core come first: a lost database or stopped loops cause many other alerts.
    """
    found = [*_core()]
    asked = [extension.alerts() for extension in implementers(ReportHooks.alerts)]
    read = _read(asked)
    for one in asked:
        if rows := [row for row in read if row.kind in one.rows]:
            found += one.describe(rows)
    return found


def _read(asked: Sequence[Alerts]) -> list[Noted]:
    """Read the rows of all kinds in one statement."""
    each = [_columns(kind, rows) for one in asked for kind, rows in one.rows.items()]
    if not each:
        return []
    first, *others = each
    return [Noted(*row) for row in first.union(*others, all=True)]


def _columns(kind: str, rows: NotedRows) -> QuerySet[Any, Any]:
    """Return the oldest rows of a kind, in columns that all kinds have."""
    tenant = F(rows.tenant) if rows.tenant else Value(None)
    return rows.found.order_by(rows.since).values_list(
        Value(kind, TextField()),
        Cast(rows.subject, TextField()),
        Cast(rows.since, DateTimeField()),
        Cast(tenant, TextField()),
        JSONObject(**rows.facts),
    )[:MOST]


def _core() -> Iterator[Alert]:
    found = health()
    if found.is_slow:
        yield Alert("database_slow", "", f"The database takes {found.latency_ms} ms to answer.")
    now = found.vitals
    if now is None:  # the database is away: the caller's next statement fails anyway
        return
    if now.maintained_at:
        why = f" {now.maintenance}" if now.maintenance else ""
        yield Alert("maintenance", "", f"Maintenance: no job starts.{why}", now.maintained_at)
    if not now.is_ticking:
        yield from _loops(now)
    if (now.workers - now.alive) * 2 > now.workers:
        yield Alert("workers_silent", "", "Most workers are silent.")
    for worker in now.ahead:
        text = (
            f"The clock of worker {worker} is ahead of this server: its start lies in the future."
        )
        yield Alert("worker_skewed", worker, text)


def _loops(now: Vitals) -> list[Alert]:
    """Name the stopped loops; one alert if all loops stopped or none ever ran."""
    if len(now.standing) == now.loops:
        text = (
            "No loops have run lately: due jobs do not start and lost jobs do not return. "
            "Start manage.py runworker."
        )
        return [Alert("loops_away", "", text, now.ticked_at)]
    return [
        Alert("loop_stuck", name, f"Loop {name} does not get on.", now.ticked_at)
        for name in now.standing
    ]
