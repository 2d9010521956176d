"""Begin, extend and end throttles of noisy tenants.

The loop `noise` begins and extends throttles; time or an operator ends them. Spec: MT 9.2, contract
21.5. Each change is one transaction that first raises the configuration version, as every change of
a tenant does. Its lock puts throttles, PUTs, deletions and other leaders in sequence, and each
reads the result of the one before. Locks: the configuration version, the tenant, lanes.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models.functions import Now

from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.record.events import Kind
from jobs.services.audit.audit import record
from jobs.services.lanes import configuration
from jobs.services.read.clock import now
from jobs.services.record.emit import emit
from tenancy import queries
from tenancy.conf import conf
from tenancy.domain.tenant import Source, Standing
from tenancy.domain.throttle import Action, Hold, Reduction
from tenancy.models import Tenant, Throttle
from tenancy.services import tenant_cache
from tenancy.services.admission import created
from tenancy.services.reductions import configured_of, released, throttle_event, throttle_of
from tenancy.services.tenant_cache import policy_of
from tenancy.services.tenants import enforce, find, locked


def release(tenant_id: str, *, actor: Caller = SYSTEM, reason: str | None = None) -> Tenant:
    """Release a tenant from its throttle; no effect if it is not throttled.

    It is not throttled again for as long as a throttle lasts; `reason` goes into the audit log.
    Raises NotFound.
    """
    throttle = throttle_of(find(tenant_id))
    if throttle is not None and throttle.hold != Hold.LIFTED:
        _lift(tenant_id, actor, reason)
        tenant_cache.cache.clear()
    return find(tenant_id)


def _lift(tenant_id: str, actor: Caller, reason: str | None) -> None:
    with atomic():
        configuration.hold()
        row = locked(tenant_id)
        throttle = None if row is None else throttle_of(row)
        if row is None or throttle is None or throttle.hold == Hold.LIFTED:
            return
        configuration.change()
        event = released(row, throttle, "manual")
        Throttle.objects.filter(tenant=row).update(hold=Hold.LIFTED, until=Now() + _lasts())
        _give_back(row)
        emit([event])
        record(actor, "tenant.throttle_released", tenant_id, reason=reason, data=event.data)


def _lasts() -> timedelta:
    return timedelta(milliseconds=conf().throttle_ms)


def _give_back(row: Tenant) -> None:
    before = policy_of(row)
    enforce(row.id, before, replace(before, reduction=None))


# --- by time --------------------------------------------------------------------------------------


def expire() -> int:
    """End the throttles whose time has passed; returns how many."""
    due = Throttle.objects.filter(until__lte=Now()).order_by("tenant").values_list("tenant")
    ended = [one for (one,) in due if _expire(one)]
    if ended:
        tenant_cache.cache.clear()
    return len(ended)


def _expire(tenant_id: str) -> bool:
    with atomic():
        configuration.hold()
        row = locked(tenant_id)
        throttle = None if row is None else throttle_of(row)
        # it may have been extended meanwhile
        gone, _ = Throttle.objects.filter(tenant=tenant_id, until__lte=Now()).delete()
        if row is None or throttle is None or not gone:
            return False
        configuration.change()
        if throttle.hold != Hold.LIFTED:
            event = released(row, throttle, "expired")
            _give_back(row)
            emit([event])
            record(SYSTEM, "tenant.throttle_released", tenant_id, data=event.data)
    return True


# --- by signals -----------------------------------------------------------------------------------


def extend(tenants: Collection[str]) -> None:
    """Extend throttles that match the settings; other throttles end in their time."""
    if tenants:
        found = Throttle.objects.filter(
            tenant__in=tenants, hold=_wanted(), action=conf().auto_throttle
        )
        found.update(until=Now() + _lasts())


def begin(tenant_id: str, reasons: Sequence[str], *, active: int) -> bool:
    """Throttle a noisy tenant with `active` jobs as configured; returns whether it began.

    No throttle begins if nothing can be reduced or if one is in force. Neither does it for a
    suspended or deleted tenant, or shortly after an operator released the tenant.
    """
    row = Tenant.objects.select_related("throttle").filter(id=tenant_id).first()
    is_default = row is None and tenant_id == conf().default
    if not _may_begin(row or (Tenant(id=tenant_id) if is_default else None), active):
        return False
    with atomic():
        configuration.hold()
        if is_default and queries.create([tenant_id]):
            emit([created(tenant_id, Source.AUTO)])
        row = locked(tenant_id)
        if row is None or not _may_begin(row, active):
            return False
        configuration.change()
        _begin(row, reasons, active)
    tenant_cache.cache.clear()
    return True


def _wanted() -> Hold:
    return Hold.DRY_RUN if conf().throttle_dry_run else Hold.APPLIED


def _may_begin(row: Tenant | None, active: int) -> bool:
    if row is None or row.state == Standing.SUSPENDED:
        return False
    throttle = throttle_of(row)
    if throttle is not None and (throttle.hold, _wanted()) != (Hold.DRY_RUN, Hold.APPLIED):
        return False
    found = _reduction(row, active)
    return found.effective(found.had) < found.had


def _reduction(row: Tenant, active: int) -> Reduction:
    action = Action(conf().auto_throttle)
    had = configured_of(row, action)
    # without a limit of active jobs, the current number counts
    return Reduction(action, conf().throttle_factor, active if had is None else had)


def _begin(row: Tenant, reasons: Sequence[str], active: int) -> None:
    before, made, at = policy_of(row), _reduction(row, active), now()
    Throttle.objects.filter(tenant=row).delete()  # a dry run
    row.throttle = Throttle.objects.create(
        tenant_id=row.id,
        hold=_wanted(),
        action=made.action,
        factor=made.factor,
        had=made.had,
        reasons=list(reasons),
        since=at,
        until=at + _lasts(),
    )
    enforce(row.id, before, policy_of(row))
    event = throttle_event(Kind.TENANT_THROTTLED, row, row.throttle)
    emit([event])
    record(SYSTEM, "tenant.throttled", row.id, data=event.data)
