"""Alerts about the federation, from stored facts of the loops."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from federation.domain.breaker import State
from federation.models import Region, RegionHealth, ReplicationPeer, Status
from jobs.domain.record.alerts import Alert, Noted
from jobs.domain.wire.durations import format_duration
from jobs.extensions import Alerts, NotedRows

DOWN, OPEN, SKEWED, LATE = "region_down", "region_open", "region_skewed", "replication_late"


def alerts() -> Alerts:
    """Return alerts: unhealthy regions, open breakers, wrong clocks, and late peers."""
    known = RegionHealth.objects.filter(region__enabled=True)
    ill = known.filter(status=Status.UNHEALTHY, breaker=State.CLOSED)
    enabled = Region.objects.filter(enabled=True).values("id")
    late = ReplicationPeer.objects.filter(region__in=enabled).exclude(late_since=None)
    error = {"error": "last_error"}
    return Alerts(
        {
            OPEN: NotedRows(
                known.exclude(breaker=State.CLOSED),
                "region_id", "tripped_at", facts={**error, "forced": "is_forced"},
            ),
            DOWN: NotedRows(ill, "region_id", "status_at", facts=error),
            LATE: NotedRows(late, "region", "late_since", facts={"lag_ms": "lag_ms"}),
            SKEWED: NotedRows(
                known.exclude(skewed_at=None), "region_id", "skewed_at", facts={"skew_s": "skew_s"}
            ),
        },
        _alerts,
    )  # fmt: skip


def _alerts(rows: Sequence[Noted]) -> list[Alert]:
    return [
        Alert(row.kind, row.subject, SAYS[row.kind](row.subject, row.facts), row.since)
        for row in rows
    ]


def _open(region: str, facts: Mapping[str, Any]) -> str:
    if facts["forced"]:
        return f"The circuit breaker of region {region} was opened by hand: no job goes there."
    return f"The region {region} is down, its circuit breaker is open{_why(facts)}."


def _down(region: str, facts: Mapping[str, Any]) -> str:
    return f"The region {region} is unhealthy{_why(facts)}."


def _why(facts: Mapping[str, Any]) -> str:
    return f": {facts['error']}" if facts["error"] else ""


def _late(region: str, facts: Mapping[str, Any]) -> str:
    return (
        f"Region {region} has lacked changes of this region for {format_duration(facts['lag_ms'])}."
    )


def _skewed(region: str, facts: Mapping[str, Any]) -> str:
    way = "ahead of" if facts["skew_s"] > 0 else "behind"
    return (
        f"The clock of region {region} is {abs(facts['skew_s'])} s {way} the clock of this region."
    )


SAYS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], str]]] = {
    OPEN: _open, DOWN: _down, LATE: _late, SKEWED: _skewed,
}  # fmt: skip
