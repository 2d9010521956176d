"""Versions of job types on the pages: shares, failures, plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.models import Audit
from versioning.domain.canary import newest
from versioning.domain.canary_request import WINDOW_MS, guard_of, plan_of, shares_of
from versioning.domain.evidence import Guard, Interval, Outcomes, wilson
from versioning.domain.version import Version
from versioning.models import Rollback, Routing
from versioning.services.acceptance import accepting
from versioning.services.observed import Observed, RunTimes
from versioning.services.routing import PlanState, next_step, state_of
from versioning.services.versions import TypeVersions

STATES = {
    PlanState.RUNNING: ("active", "plan runs"),
    PlanState.PAUSED: ("paused", "plan paused"),
    PlanState.COMPLETE: ("completed", "plan complete"),
    PlanState.HALTED: ("discarded", "plan halted"),
}


AFTER_ROLLBACK = {"now": "stopped", "next": "left", "later": "left"}
SAME = timedelta(seconds=10)  # between the clocks of a rollback's row and of its audit entry


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a plan; `mark` is done, now, next or later; after a rollback stopped or left."""

    percent: float
    mark: str

    @property
    def words(self) -> str:
        """Return its mark in words."""
        return "not reached" if self.mark == "left" else self.mark


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A version of a job type; `share` is None if the rules do not name it."""

    version: Version
    share: float | None
    outcomes: Outcomes
    interval: Interval
    is_newest: bool
    workers: int
    ran: RunTimes | None


@dataclass(frozen=True, slots=True)
class RulesCard:
    """The routing rules of a job type."""

    row: Routing

    @property
    def guard(self) -> Guard | None:
        """Return the conditions of an automatic rollback."""
        return guard_of(self.row.guard)

    @property
    def threshold(self) -> float | None:
        """Return the part of failures above which the server rolls back; None: never."""
        return self.guard.threshold if self.guard else None

    @property
    def window_ms(self) -> int:
        """Return the period of the counted outcomes."""
        return self.guard.window_ms if self.guard else WINDOW_MS

    @property
    def state(self) -> tuple[str, str] | None:
        """Return the colour and the words of the plan."""
        found = state_of(self.row)
        return None if found is None else STATES[found]

    @property
    def may_pause(self) -> bool:
        """Return whether the plan will take further steps."""
        return next_step(self.row) is not None

    @property
    def may_promote(self) -> bool:
        """Return whether the newest version does not have all jobs yet."""
        shares = shares_of(self.row.rules)
        return newest(shares).weight < sum(one.weight for one in shares)

    @property
    def may_roll_back(self) -> bool:
        """Return whether there is a lower version."""
        return len(self.row.rules) > 1

    @property
    def newest(self) -> str:
        """Return the newest version as it was written."""
        return str(newest(shares_of(self.row.rules)).text)

    @property
    def next_at(self) -> datetime | None:
        """Return the earliest time of the next step; None without a next step."""
        plan = plan_of(self.row.plan)
        if plan is None or self.row.step_at is None or next_step(self.row) is None:
            return None
        return self.row.step_at + timedelta(milliseconds=plan.bake_ms)

    @property
    def steps(self) -> list[Step]:
        """Return the steps of the plan."""
        plan = plan_of(self.row.plan)
        if plan is None or self.row.step is None:
            return []
        following = next_step(self.row)
        marks = [_mark(n, self.row.step, following) for n in range(len(plan.steps))]
        if self.row.rolled_back_at is not None:
            marks = [AFTER_ROLLBACK.get(one, one) for one in marks]
        return [Step(one, mark) for one, mark in zip(plan.steps, marks, strict=True)]

    @property
    def shares(self) -> str:
        """Return the shares in one line, for lists."""
        shares = shares_of(self.row.rules)
        whole = sum(one.weight for one in shares)
        return ", ".join(f"{one.text} {100 * one.weight / whole:.3g} %" for one in shares)


@dataclass(frozen=True, slots=True)
class Slower:
    """Run times of the newest version relative to the next lower version, as factors."""

    newest: Version
    stable: Version
    p50: float
    p95: float

    @property
    def words(self) -> str:
        """Compare the times in a sentence."""
        p50, p95 = _times(self.p50), _times(self.p95)
        return f"{self.newest} takes {p50} as {self.stable} at p50, and {p95} at p95."


def _times(factor: float) -> str:
    said = f"{factor:.2f}"
    return "as long" if said == "1.00" else f"{said} times as long"


def slower(seen: Observed, row: Routing) -> Slower | None:
    """Compare run times; None unless both versions have acknowledged jobs."""
    ranked = sorted((one.version for one in shares_of(row.rules)), reverse=True)[:2]
    by_version = {one.version: one.ran for one in seen.versions}
    both = [ran for version in ranked if (ran := by_version.get(version))]
    if len(both) < len(ranked) or len(ranked) == 1:
        return None
    new, old = both
    return Slower(ranked[0], ranked[1], new.p50_ms / old.p50_ms, new.p95_ms / old.p95_ms)


def scale(lines: Sequence[RuleLine], threshold: float | None) -> float:
    """Return the highest error rate that the bars of all versions show, so that they compare."""
    highest = [one.interval.high for one in lines if one.outcomes.total]
    return min(1.0, max([*highest, 2 * (threshold or 0), 0.01]))


@dataclass(frozen=True, slots=True)
class RollbackLine:
    """A rollback with its evidence, and with the actor and the reason of its audit entry.

    `interval` is of the failure rate; None: an operator rolled back.
    """

    row: Rollback
    interval: Interval | None
    threshold: float | None
    actor: str
    reason: str | None

    @property
    def rate(self) -> float:
        """Return the part of the attempts that failed."""
        return (self.row.failed or 0) / max(1, self.row.samples or 0)


def rollback_lines(rows: Sequence[Rollback], entries: Sequence[Audit]) -> list[RollbackLine]:
    """Join rollbacks with their audit entries, which one transaction has written."""
    return [_rollback_line(row, _entry_of(row, entries)) for row in rows]


def _entry_of(row: Rollback, entries: Sequence[Audit]) -> Audit | None:
    near = [
        one
        for one in entries
        if one.data.get("from") == row.from_version and abs(one.at - row.at) < SAME
    ]
    return min(near, key=lambda one: abs(one.at - row.at), default=None)


def _rollback_line(row: Rollback, entry: Audit | None) -> RollbackLine:
    failed, samples = row.failed or 0, row.samples or 0
    return RollbackLine(
        row,
        wilson(Outcomes(samples - failed, failed)) if row.by_rate else None,
        entry.data.get("error_rate_threshold") if entry else None,
        entry.actor if entry else "",
        entry.reason if entry else None,
    )


def _mark(n: int, step: int, following: int | None) -> str:
    if n == step:
        return "now"
    if n < step:
        return "done"
    return "next" if n == following else "later"


def rule_lines(row: Routing, seen: Observed, loads: TypeVersions) -> Sequence[RuleLine]:
    """Join the rules with the outcomes of the versions, newest first."""
    shares = {one.version: one.weight for one in shares_of(row.rules)}
    whole = sum(shares.values())
    highest = max(shares)
    return [
        RuleLine(
            one.version,
            shares[one.version] / whole if one.version in shares else None,
            one.outcomes,
            wilson(one.outcomes),
            one.version == highest,
            accepting(loads.workers, row.type, one.version),
            one.ran,
        )
        for one in seen.versions
    ]
