"""Watch canaries: roll back failing versions and advance plans. The loop `canaries`.

Spec: job-versioning 10.2, contract 22.4. See docs/adr/0017.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from jobs.database import atomic
from jobs.services.read import clock
from versioning.domain.canary_request import guard_of, plan_of
from versioning.domain.evidence import Evidence, Guard, Outcomes, Pair
from versioning.models import Routing, Trial
from versioning.services import fallback, outcomes, routing
from versioning.services.outcomes import ByVersion
from versioning.services.routes import Routes, latest
from versioning.services.routing import Verdict

NONE = Outcomes()


class Counted(NamedTuple):
    """Rules, the evidence against their newest versions, and whether more events wait."""

    rows: list[Routing]
    trials: Mapping[str, Evidence]
    has_more: bool


def watch() -> int:
    """Look once; returns how many types were changed, or 1 if more events wait.

    1. Count the attempts that ended since the last look, and update the evidence.
    2. Roll back versions that fail too often; skip rules that have changed meanwhile.
    3. Take the steps of plans that have baked, if no evidence speaks against the version.
    4. Update fallbacks for rules that allow them and whose drawn version no worker accepts.

    Each change is a transaction of its own, so counts stay if a change fails.
    """
    routes = latest()
    found = count(routes)
    if found.has_more:
        return 1
    now = clock.now() if found.rows else None
    changed = [one for one in found.rows if now and _decide(one, routes, found.trials, now)]
    return len(changed) + fallback.watch(routes)


def count(routes: Routes) -> Counted:
    """Count the attempts that ended since the last call, and update the evidence.

    One transaction, so all counted outcomes enter the evidence.
    """
    with atomic():
        ended, has_more = outcomes.read(routes)
        rows = list(Routing.objects.order_by("type")) if routes.rules else []
        trials = {row.type: _look(row, routes, ended) for row in rows if row.guard is not None}
    return Counted(rows, trials, has_more)


# --- evidence -------------------------------------------------------------------------------------


def _look(row: Routing, routes: Routes, ended: Mapping[int, Outcomes]) -> Evidence:
    """Update the evidence with a look at both versions; the rules' window has earlier outcomes."""
    guard = guard_of(row.guard)
    stored = Trial.objects.filter(type=row.type).first()
    evidence = Evidence() if stored is None else Evidence(stored.looks, stored.log_bet)
    rules = routes.rules.get(row.type)
    if rules is None or rules.revision != row.revision or row.rolled_back_at is not None:
        return evidence
    if guard is None or guard.significance is None:
        return evidence
    seen = _pair(row, routes, outcomes.by_version(row.type, routes, ended))
    if not seen.new.total and not seen.old.total:
        return evidence
    window = _pair(row, routes, outcomes.in_window(row.type, routes, guard.window_ms))
    before = Pair(window.new.minus(seen.new), window.old.minus(seen.old))
    evidence = evidence.after(seen, before, guard.threshold)
    Trial.objects.update_or_create(
        type=row.type, defaults={"looks": evidence.looks, "log_bet": evidence.log_bet}
    )
    return evidence


def _pair(row: Routing, routes: Routes, found: ByVersion) -> Pair:
    rules = routes.rules.get(row.type)
    both = None if rules is None else outcomes.judged(rules)
    if both is None:
        return Pair()
    return Pair(found.get(both[0], NONE), found.get(both[1], NONE))


# --- decisions ------------------------------------------------------------------------------------


def _decide(row: Routing, routes: Routes, trials: Mapping[str, Evidence], now: datetime) -> bool:
    """Roll back a version or advance its plan; returns whether the rules have changed."""
    rules, guard = routes.rules.get(row.type), guard_of(row.guard)
    if rules is None or rules.revision != row.revision or row.rolled_back_at is not None:
        return False
    if guard is not None and outcomes.judged(rules) is not None:
        seen = _pair(row, routes, outcomes.in_window(row.type, routes, guard.window_ms)).new
        if guard.is_exceeded(seen):
            if not guard.is_proven(trials[row.type]) or _cools_down(row, guard, now):
                return False  # no step either
            return routing.roll_back_by(row.type, Verdict(row.revision, seen))
    return _has_baked(row, routes, now) and routing.advance(row.type, row.revision)


def _cools_down(row: Routing, guard: Guard, now: datetime) -> bool:
    began = max(row.judged_from, row.step_at or row.judged_from)
    return now < began + timedelta(milliseconds=guard.cool_down_ms)


def _has_baked(row: Routing, routes: Routes, now: datetime) -> bool:
    plan = plan_of(row.plan)
    if plan is None or row.step_at is None or row.is_paused or row.step is None:
        return False
    if row.step + 1 >= len(plan.steps):
        return False
    if now < row.step_at + timedelta(milliseconds=plan.bake_ms):
        return False
    if not plan.min_samples:
        return True
    found = _pair(row, routes, outcomes.since(row.type, routes, row.step_at))
    return found.new.total >= plan.min_samples
