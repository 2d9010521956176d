"""The breakers of the regions, shared by all routers of this server. Spec: federation 4.3.

`domain/breaker.py` has the state machine; this module stores its state. A half-open breaker admits
one call over all processes, by one guarded statement. Outcomes of calls are counted with the row
locked. Locks: one row of `ojs_federation_health`, last of all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from federation import queries
from federation.domain import breaker as machine
from federation.domain.breaker import Breaker, Outcome, Permit, Rules, State
from federation.domain.health import Status
from federation.domain.latency import averaged
from federation.domain.order import MAX_SKEW
from federation.models import RegionHealth
from federation.services.registry import registry
from federation.services.registry.configure import find
from jobs.database import atomic, on_commit
from jobs.domain.access.caller import Caller
from jobs.domain.record.events import Kind
from jobs.services.audit.audit import audited
from jobs.services.record.emit import NewEvent, emit

MAX_ERROR = 300
CHANGES = {State.OPEN: Kind.CIRCUIT_OPENED, State.CLOSED: Kind.CIRCUIT_CLOSED}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a call; `status` and `rtt_ms` are results of probes."""

    outcome: Outcome
    error: str | None = None
    status: Status | None = None
    rtt_ms: float | None = None
    clock: datetime | None = None  # the region's time in its answer, in whole seconds


def admit(region_id: str, rules: Rules) -> Permit | None:
    """Return a permit for one call, None when it must not be sent. Spec: FED-4.3-d.

    One statement while the breaker is closed. It reads the stored state, so a breaker that another
    process opened takes effect at once.
    """
    row = RegionHealth.objects.annotate(now=Now()).filter(region=region_id).first()
    if row is None:
        return None
    stored, now = registry.breaker_of(row), registry.seconds(row.now)
    if stored.at(now, rules).state is State.CLOSED:
        return Permit()
    if not stored.would_admit(now, rules) or not _take_probe(region_id, rules):
        return None
    return Permit(is_probe=True)


def _take_probe(region_id: str, rules: Rules) -> bool:
    """Take the one call that a half-open breaker admits; of many processes, one gets it."""
    cooled = Now() - timedelta(seconds=rules.cooldown_s)
    is_over = Q(breaker=State.OPEN, is_forced=False, opened_at__lte=cooled)
    is_free = Q(probe_until=None) | Q(probe_until__lte=Now())
    waiting = RegionHealth.objects.filter(is_over | (Q(breaker=State.HALF_OPEN) & is_free))
    lease = Now() + timedelta(seconds=rules.probe_lease_s)
    return waiting.filter(region=region_id).update(breaker=State.HALF_OPEN, probe_until=lease) == 1


def record_outcome(region_id: str, permit: Permit, verdict: Verdict, rules: Rules) -> None:
    """Record the outcome of a call, and emit events of changes.

    A success that changes nothing is one statement without locks.
    """
    if not permit.is_probe and verdict.status is None and verdict.outcome is not Outcome.FAILURE:
        if verdict.outcome is Outcome.SUCCESS:
            RegionHealth.objects.filter(
                region=region_id, breaker=State.CLOSED, failures__gt=0
            ).update(failures=0)
        return
    with atomic():
        row = _locked(region_id)
        if row is None:  # the region was deleted meanwhile
            return
        now = registry.seconds(row.now)
        before = registry.breaker_of(row)
        after = machine.record_outcome(before, permit, verdict.outcome, now, rules)
        events = _noted(row, verdict)
        _store(row, after)
        emit([*events, *_changed(region_id, before, after, verdict.error)])
    registry.cache.clear()


def _locked(region_id: str) -> Any:
    return (
        RegionHealth.objects.select_for_update()
        .annotate(now=Now())
        .filter(region=region_id)
        .first()
    )


def _noted(row: RegionHealth, verdict: Verdict) -> list[NewEvent]:
    """Store the result of a probe in the row, and return the event of a change."""
    if verdict.error is not None:
        row.last_error = verdict.error[:MAX_ERROR].replace("\0", "")
    if verdict.status is None:
        return []
    before, row.status = row.status, verdict.status
    row.checked_at = Now()
    if before != verdict.status:
        row.status_at = Now()
    _note_clock(row, verdict.clock)
    queries.note_minute(row.region_id, verdict.rtt_ms)
    if verdict.status is Status.HEALTHY and verdict.rtt_ms is not None:
        row.ewma_ms = averaged(row.ewma_ms, verdict.rtt_ms)
    if before == verdict.status or (before == Status.UNKNOWN and verdict.status == Status.HEALTHY):
        return []
    is_well = verdict.status is Status.HEALTHY
    kind = Kind.REGION_HEALTHY if is_well else Kind.REGION_UNHEALTHY
    return [_event(kind, row.region_id, {} if is_well else {"error": verdict.error})]


def _note_clock(row: Any, clock: datetime | None) -> None:
    """Compare a region's clock with this server's; the answer may be one run of the loop old."""
    if clock is None:
        return
    row.skew_s = round((clock - row.now).total_seconds())
    is_off = abs(row.skew_s) > MAX_SKEW.total_seconds()
    row.skewed_at = (row.skewed_at or Now()) if is_off else None


def _store(row: RegionHealth, after: Breaker) -> None:
    row.breaker = after.state
    row.failures = after.failures
    row.opened_at = _time(after.opened_at)
    is_closed = after.state is State.CLOSED
    row.tripped_at = None if is_closed else (row.tripped_at or Now())
    row.probe_until = _time(after.probe_until)
    row.is_forced = after.is_forced
    row.save()


def _time(at: float | None) -> datetime | None:
    return None if at is None else registry.EPOCH + timedelta(seconds=at)


def _changed(region_id: str, before: Breaker, after: Breaker, error: str | None) -> list[NewEvent]:
    if after.state is before.state or after.state not in CHANGES:
        return []
    facts = {"failures": after.failures, "error": error, "from": str(before.state)}
    return [_event(CHANGES[after.state], region_id, facts)]


def _event(kind: Kind, region_id: str, facts: Mapping[str, Any]) -> NewEvent:
    return NewEvent(
        kind, data={"region": region_id, **{k: v for k, v in facts.items() if v is not None}}
    )


def force(region_id: str, state: State, caller: Caller) -> None:
    """Open a breaker until an operator closes it, or close it. Raises NotFound."""
    verb = "opened" if state is State.OPEN else "closed"
    with audited(caller, f"federation.breaker_{verb}", region_id[:64]):
        find(region_id)
        row = _locked(region_id)
        before, now = registry.breaker_of(row), registry.seconds(row.now)
        is_open = state is State.OPEN
        after = machine.force_open(before, now) if is_open else machine.force_closed()
        _store(row, after)
        if not is_open:  # the stored status is outdated: the next router probes again
            RegionHealth.objects.filter(region=region_id, status=Status.UNHEALTHY).update(
                status=Status.UNKNOWN, status_at=Now()
            )
        emit(_changed(region_id, before, after, f"{verb} by {caller.name}"))
        on_commit(registry.cache.clear, robust=True)
    registry.cache.clear()
