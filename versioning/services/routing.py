"""Store, change and roll back routing rules. Spec: job-versioning 10, contract 22.4.

Every change is one transaction, which first raises the configuration version. Its lock puts changes
in sequence, and the loop that rolls back checks under it whether the rules have changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models.functions import Now

from jobs.database import atomic, set_rollback
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.record.events import Kind
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, configured
from jobs.services.lanes import configuration
from jobs.services.read import clock
from jobs.services.record.emit import NewEvent, emit
from versioning import queries
from versioning.domain.canary import WHOLE, Share, collapsed, newest, ramped, stable
from versioning.domain.canary_request import (
    Wanted,
    guard_row,
    parse_wanted,
    plan_of,
    plan_row,
    share_rows,
    shares_of,
)
from versioning.domain.evidence import Outcomes
from versioning.models import (
    Fallback,
    Outcome,
    Redrawing,
    Rollback,
    Route,
    Routing,
    Run,
    Trial,
)
from versioning.services import routes
from versioning.services.documents import ROUTING

KIND = "routing rules"
UNROUTED, ROUTED = 0, 1  # stages of a redrawing: where it begins


class PlanState(StrEnum):
    """The state of a plan."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    HALTED = "halted"  # its version was rolled back


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grounds of an automatic rollback: counted outcomes, and the revision of the rules."""

    revision: int
    seen: Outcomes


# --- reading --------------------------------------------------------------------------------------


def find(job_type: str) -> Routing | None:
    """Return the rules of a type, or None."""
    return Routing.objects.filter(type=job_type).first()


def page(*, limit: int, offset: int) -> tuple[list[Routing], int]:
    """List rules, types by name; returns a page and the total."""
    found = Routing.objects.order_by("type")
    return list(found[offset : offset + limit]), found.count()


def shares_by_type(types: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return versions and weights of the types that have rules."""
    return dict(Routing.objects.filter(type__in=types).values_list("type", "rules"))


def state_of(row: Routing) -> PlanState | None:
    """Return the state of the plan of rules, or None without a plan."""
    if row.plan is None:
        return None
    if row.rolled_back_at is not None:
        return PlanState.HALTED
    if next_step(row) is None:
        return PlanState.COMPLETE
    return PlanState.PAUSED if row.is_paused else PlanState.RUNNING


def next_step(row: Routing) -> int | None:
    """Return the number of the next step; None: the plan has ended, or there is none."""
    plan = plan_of(row.plan)
    if plan is None or row.step is None or row.rolled_back_at is not None:
        return None
    return row.step + 1 if row.step + 1 < len(plan.steps) else None


# --- changing -------------------------------------------------------------------------------------


def put(wanted: Wanted, caller: Caller = SYSTEM) -> tuple[Routing, bool]:
    """Store rules in place of the type's rules; returns them and whether there were none.

    They apply from the commit on, in every process: to new jobs at once, to waiting jobs when the
    loop `redraw` reaches them. Raises Conflict if the revision differs from the wanted revision,
    TooManyVersions.
    Locks: the configuration version, then the rules.
    """
    with configured(caller, Subject(ROUTING, wanted.type), "routing.changed") as data:
        before = _locked(wanted.type)
        _require_revision(wanted.type, before, wanted.revision)
        now = clock.now()
        row = Routing(
            type=wanted.type, mode=wanted.mode, on_no_worker=wanted.on_no_worker,
            fallback_ms=wanted.fallback_ms, guard=guard_row(wanted.guard),
            plan=plan_row(wanted.plan), judged_from=now,
            step=None if wanted.plan is None else 0,
            step_at=None if wanted.plan is None else now,
        )  # fmt: skip
        if before is not None:
            row.created_at = before.created_at
            row._state.adding = False
        _judge_anew(wanted.type)
        _save(row, wanted.shares, before, "put", caller)
        data |= {"rules": row.rules, "revision": row.revision}
    return _shown(wanted.type), before is None


def delete(job_type: str, caller: Caller = SYSTEM, *, revision: int | None = None) -> None:
    """Delete the rules of a type; its jobs then follow their own versions.

    Raises NotFound, Conflict by the revision.
    """
    with configured(caller, Subject(ROUTING, job_type), "routing.deleted") as data:
        before = _required(job_type, revision)
        data["rules"] = before.rules
        Routing.objects.filter(type=job_type).delete()
        # waiting jobs keep their rows: their version keys now mean their own versions
        Redrawing.objects.filter(type=job_type).delete()
        _judge_anew(job_type)
        _emit_changed(job_type, [], before.rules, configuration.version(), "delete", caller)
    routes.clear()


def promote(job_type: str, caller: Caller = SYSTEM, *, revision: int | None = None) -> Routing:
    """Take the next step of the plan; without a plan the newest version gets all jobs.

    Raises NotFound, Conflict if it has all already, or by the revision.
    """
    with configured(caller, Subject(ROUTING, job_type), "routing.promoted") as data:
        row = _required(job_type, revision)
        shares = shares_of(row.rules)
        step = next_step(row)
        if newest(shares).weight >= _whole(shares):
            raise _conflict(row, f"all jobs of {job_type} go to {newest(shares).text} already")
        _step(row, shares, step, "promote", caller)
        data |= {"rules": row.rules, "revision": row.revision}
    return _shown(job_type)


def advance(job_type: str, revision: int) -> bool:
    """Take the next step of a plan, unless the rules have changed; returns whether it did."""
    with atomic():
        row = _locked(job_type)
        step = None if row is None or row.revision != revision else next_step(row)
        if row is None or step is None or row.is_paused:
            set_rollback(True)  # keeps the configuration version unchanged
            return False
        with configured(SYSTEM, Subject(ROUTING, job_type), "routing.stepped") as data:
            _step(row, shares_of(row.rules), step, "step", SYSTEM)
            data |= {"rules": row.rules, "revision": row.revision}
    routes.clear()
    return True


def pause(
    job_type: str, caller: Caller = SYSTEM, *, is_paused: bool, revision: int | None = None
) -> Routing:
    """Pause or resume the automatic steps of a plan; a resumed step starts its bake time again.

    Raises NotFound, Conflict if no plan is in progress, or by the revision.
    """
    action = "routing.paused" if is_paused else "routing.resumed"
    with configured(caller, Subject(ROUTING, job_type), action):
        row = _required(job_type, revision)
        if next_step(row) is None:
            raise _conflict(row, f"the rules of {job_type} have no plan that goes on")
        changed = {"is_paused": is_paused, "updated_at": Now()}
        if row.is_paused and not is_paused:
            changed["step_at"] = Now()
        Routing.objects.filter(type=job_type).update(**changed)
    return _shown(job_type)


def roll_back(job_type: str, caller: Caller = SYSTEM, *, revision: int | None = None) -> Routing:
    """Send all jobs to the next version below the newest.

    Raises NotFound, Conflict if there is none, or by the revision.
    """
    with atomic():
        row = _required(job_type, revision)
        if collapsed(shares_of(row.rules)) is None:
            raise _conflict(row, f"the rules of {job_type} have no lower version")
        _collapse(row, None, caller)
    return _shown(job_type)


def roll_back_by(job_type: str, verdict: Verdict) -> bool:
    """Roll back for the loop, unless the rules have changed; returns whether it did."""
    with atomic():
        row = _locked(job_type)
        if row is None or row.revision != verdict.revision or row.rolled_back_at is not None:
            set_rollback(True)  # keeps the configuration version unchanged
            return False
        _collapse(row, verdict.seen, SYSTEM)
    routes.clear()
    return True


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the rules of a type; None: delete them. A plan begins at its first step."""
    if document is None:
        delete(name, caller)
    else:
        put(parse_wanted(name, document), caller)


# --- one change -----------------------------------------------------------------------------------


def _locked(job_type: str) -> Routing | None:
    """Wait for all changes of the configuration, and return the current rules."""
    configuration.change()
    return Routing.objects.select_for_update().filter(type=job_type).first()


def _required(job_type: str, revision: int | None = None) -> Routing:
    row = _locked(job_type)
    if row is None:
        raise NotFound.of(KIND, job_type)
    _require_revision(job_type, row, revision)
    return row


def _require_revision(job_type: str, row: Routing | None, revision: int | None) -> None:
    found = 0 if row is None else row.revision
    if revision not in (None, found):
        raise Conflict(
            f"the routing rules of {job_type} have changed",
            details={"field": "revision", "type": job_type, "revision": found},
        )


def _conflict(row: Routing, message: str) -> Conflict:
    return Conflict(message, details={"type": row.type, "revision": row.revision})


def _whole(shares: tuple[Share, ...]) -> float:
    return sum(one.weight for one in shares)


def _step(
    row: Routing, shares: tuple[Share, ...], step: int | None, change: str, caller: Caller
) -> None:
    plan = plan_of(row.plan)
    percent = float(WHOLE) if step is None or plan is None else plan.steps[step]
    if step is not None:
        row.step, row.step_at = step, clock.now()
    _save(row, ramped(shares, percent), row, change, caller)


def _collapse(row: Routing, seen: Outcomes | None, caller: Caller) -> None:
    """Send all jobs to the lower version and emit the event; the caller has checked it exists."""
    before = shares_of(row.rules)
    lower, after = stable(before), collapsed(before)
    if lower is None or after is None:
        return
    gone = newest(before)
    with configured(caller, Subject(ROUTING, row.type), "routing.rolled_back") as data:
        row.rolled_back_at, row.rolled_back_from = clock.now(), str(gone.text)
        _save(row, after, row, "rollback", caller)
        Rollback.objects.create(
            type=row.type, from_version=str(gone.text), to_version=str(lower.text),
            by_rate=seen is not None,
            samples=None if seen is None else seen.total,
            failed=None if seen is None else seen.failed,
        )  # fmt: skip
        facts: dict[str, Any] = {"from": str(gone.text), "to": str(lower.text)}
        facts |= {"automatic": seen is not None, "revision": row.revision}
        if seen is not None and row.guard is not None:
            facts |= {"samples": seen.total, "failed": seen.failed, "error_rate": seen.rate}
            facts["error_rate_threshold"] = row.guard["threshold"]
        data.update(facts)
        emit([NewEvent(Kind.VERSION_ROLLED_BACK, type=row.type, data=facts)])


def _save(
    row: Routing, shares: tuple[Share, ...], before: Routing | None, change: str, caller: Caller
) -> None:
    """Put rules in force under a new revision; waiting jobs are redrawn."""
    was = [] if before is None else before.rules
    row.rules = share_rows(shares)
    row.revision = configuration.version()
    row.updated_at = Now()
    for one in shares:
        routes.route_of(row.type, None, one.version)
    row.save()
    unfinished = Redrawing.objects.filter(type=row.type, first_stage=UNROUTED).exists()
    stage = UNROUTED if before is None or unfinished else ROUTED
    Redrawing.objects.filter(type=row.type).delete()
    Redrawing.objects.create(type=row.type, revision=row.revision, first_stage=stage, stage=stage)
    _emit_changed(row.type, row.rules, was, row.revision, change, caller)


def _judge_anew(job_type: str) -> None:
    """Delete outcomes, so that outcomes of other rules do not count against a version.

    It waits for the loop that counts outcomes, which could otherwise restore the ones it is
    reading.
    """
    queries.begin_reading()
    of_type = list(Route.objects.filter(type=job_type).values_list("id", flat=True))
    Outcome.objects.filter(route__in=of_type).delete()
    Run.objects.filter(route__in=of_type).delete()
    Fallback.objects.filter(route__in=of_type).delete()
    Trial.objects.filter(type=job_type).delete()


def _emit_changed(
    job_type: str,
    rules: list[Mapping[str, Any]],
    before: list[Mapping[str, Any]],
    revision: int,
    change: str,
    caller: Caller,
) -> None:
    facts = {"rules": rules, "previous_rules": before, "revision": revision, "change": change}
    event = NewEvent(Kind.ROUTING_CHANGED, type=job_type, data={**facts, "changed_by": caller.name})
    emit([event])


def _shown(job_type: str) -> Routing:
    routes.clear()
    return Routing.objects.get(type=job_type)
