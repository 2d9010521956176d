"""Marks of charts: deployments, pauses and changes of the configuration, with before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from console import queries_over_time
from jobs.services.record.rates import Point, Spell

MOST: Final = 40  # marks of a chart
COMPARED: Final = 10  # steps before and after a mark
DEPLOYED, PAUSED, RESUMED, CHANGED = "deployed", "paused", "resumed", "changed"
KINDS: Final = {
    DEPLOYED: "deployment",
    PAUSED: "pause",
    RESUMED: "resumption",
    CHANGED: "change",
}  # the first letter stands on the chart
SCHEMA: Final = "schema.registered"
BUILD: Final = "worker.build"
# by action of the audit log: the kind of the mark, and its words before the target
ACTIONS: Final = {
    SCHEMA: (DEPLOYED, "Schema registered:"),
    "schema.deleted": (CHANGED, "Schema deleted:"),
    "routing.changed": (CHANGED, "Version rules changed:"),
    "routing.deleted": (CHANGED, "Version rules removed:"),
    "routing.promoted": (DEPLOYED, "Next step of the rollout:"),
    "routing.stepped": (DEPLOYED, "Next step of the rollout:"),
    "routing.rolled_back": (DEPLOYED, "Rolled back:"),
    "routing.paused": (PAUSED, "Rollout paused:"),
    "routing.resumed": (RESUMED, "Rollout resumed:"),
    "queue.paused": (PAUSED, "Queue paused:"),
    "queue.resumed": (RESUMED, "Queue resumed:"),
    "queue.config_changed": (CHANGED, "Queue configured:"),
    "queue.purged": (CHANGED, "Queue purged:"),
    "maintenance.started": (PAUSED, "Maintenance started"),
    "maintenance.ended": (RESUMED, "Maintenance ended"),
    "workers.quiet": (PAUSED, "Workers quiet:"),
    "workers.resume": (RESUMED, "Workers resumed:"),
    "workers.terminate": (CHANGED, "Workers terminated:"),
    "tenant.suspended": (PAUSED, "Tenant suspended:"),
    "tenant.resumed": (RESUMED, "Tenant resumed:"),
    "tenant.configured": (CHANGED, "Tenant configured:"),
    "tenant.limits_changed": (CHANGED, "Limits of tenant changed:"),
    "tenant.throttled": (CHANGED, "Tenant throttled:"),
    "tenant.throttle_released": (CHANGED, "Throttle released:"),
    "rate_limit.overridden": (CHANGED, "Rate limit overridden:"),
    "rate_limit.override_ended": (CHANGED, "Override ended:"),
    "pool.changed": (CHANGED, "Pool configured:"),
    "pool.deleted": (CHANGED, "Pool deleted:"),
    "scheduling.configured": (CHANGED, "Scheduling configured"),
    "federation.config_changed": (CHANGED, "Federation configured"),
}
NAMELESS: Final = {
    name for name, (_, words) in ACTIONS.items() if not words.endswith(":")
}  # their targets say nothing
# actions that concern every queue, tenant and type
EVERYWHERE: Final = (
    "maintenance.started", "maintenance.ended", "workers.quiet", "workers.resume",
    "workers.terminate", "scheduling.configured",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """The numbers of the steps on one side of a mark; None: no attempt ended, or none completed."""

    error_rate: float | None
    mean_ms: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A change within a chart; `label` names it in words."""

    at: datetime
    kind: str
    label: str
    actor: str
    reason: str | None
    before: Side
    after: Side


@dataclass(frozen=True, slots=True)
class Subject:
    """The jobs of a chart: of a queue, a tenant or a type, or all."""

    queue: str | None = None
    tenant: str | None = None
    type: str | None = None

    @property
    def query(self) -> dict[str, str]:
        """Return the filter of the list of these jobs."""
        named = {"queue": self.queue, "tenant": self.tenant, "type": self.type}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def targets(self) -> list[str] | None:
        """Return the targets in the audit log that concern it; None: all."""
        if self.type is not None:
            return [self.type, f"type:{self.type}"]
        if self.queue is not None:
            return [self.queue, f"queue:{self.queue}"]
        return None if self.tenant is None else [self.tenant, f"tenant:{self.tenant}"]

    @property
    def prefix(self) -> str:
        """Return the beginning of the actions that concern it by name; empty: all."""
        if self.type is not None:
            return "routing."
        if self.queue is not None:
            return "queue."
        return "" if self.tenant is None else "tenant."


def read(spell: Spell, subject: Subject, points: Sequence[Point]) -> list[Mark]:
    """Return the latest changes within a chart, oldest first; one statement."""
    everywhere = [*EVERYWHERE, SCHEMA] if subject.type is not None else list(EVERYWHERE)
    found = queries_over_time.marks(
        since=spell.since, until=spell.until, targets=subject.targets, actions=list(ACTIONS),
        everywhere=everywhere, with_builds=subject.tenant is None, size=MOST,
    )  # fmt: skip
    return within(spell, subject, points, found)


def within(
    spell: Spell,
    subject: Subject,
    points: Sequence[Point],
    changes: Sequence[queries_over_time.Change],
) -> list[Mark]:
    """Return the marks of changes that are given latest first, oldest first."""
    return [
        _mark(one, spell, points)
        for one in reversed(changes)
        if spell.since <= one.at < spell.until and _concerns(one, subject)
    ]


def _concerns(change: queries_over_time.Change, subject: Subject) -> bool:
    if change.action in {*EVERYWHERE, BUILD}:
        return True
    if change.action not in ACTIONS or not subject.prefix:
        return change.action in ACTIONS
    if change.action == SCHEMA:
        return subject.type is not None and change.target.partition("@")[0] == subject.type
    return change.action.startswith((subject.prefix, "rate_limit.", "schema."))


def _mark(change: queries_over_time.Change, spell: Spell, points: Sequence[Point]) -> Mark:
    step = int((change.at - spell.since).total_seconds()) // spell.period_s
    # the step of the change belongs to neither side
    before, after = points[max(0, step - COMPARED) : step], points[step + 1 : step + 1 + COMPARED]
    kind, words = _words(change)
    return Mark(change.at, kind, words, change.actor, change.reason, _side(before), _side(after))


def _words(change: queries_over_time.Change) -> tuple[str, str]:
    if change.action == BUILD:
        number = f"{change.workers} worker{'s' if change.workers != 1 else ''}"
        if change.target:
            return DEPLOYED, f"Build {change.target} of {number}"
        return DEPLOYED, f"New declaration of {number}"
    kind, words = ACTIONS[change.action]
    return kind, words if change.action in NAMELESS else f"{words} {change.target}"


def _side(points: Sequence[Point]) -> Side:
    completed = sum(point.completed for point in points)
    failed = sum(point.failed for point in points)
    took = sum(point.mean_ms * point.completed for point in points)
    ended = completed + failed
    return Side(failed / ended if ended else None, took / completed if completed else None)


def encode(mark: Mark) -> dict[str, Any]:
    """Return a mark as charts.js reads it."""
    return {"at": mark.at.timestamp(), "kind": mark.kind, "label": mark.label}
