"""Explain waiting jobs of suspended and throttled tenants."""

from collections.abc import Sequence

from jobs.domain.dispatch.gates import Gate, GateState
from tenancy.domain.tenant import Standing
from tenancy.domain.throttle import Action
from tenancy.models import Tenant
from tenancy.services.reductions import throttled


def explain(tenant_id: str) -> Sequence[Gate]:
    """Return the gates of a stored tenant; one statement.

    A claim meets a suspension as the tenant's limit, which lets no job start. It meets a throttle
    as that limit or as the weight of the lanes.
    """
    row = Tenant.objects.select_related("throttle").filter(id=tenant_id).first()
    return () if row is None else (_suspension(row), *_throttle(row))


def _suspension(row: Tenant) -> Gate:
    tenant_id = row.id
    if row.state == Standing.SUSPENDED:
        message = f"Tenant {tenant_id} is suspended: its jobs start when it is resumed."
        return Gate("suspension", GateState.CLOSED, message, name=tenant_id)
    message = f"Tenant {tenant_id} is not suspended."
    return Gate("suspension", GateState.OPEN, message, name=tenant_id)


def _throttle(row: Tenant) -> Sequence[Gate]:
    """Return the gate of a throttled tenant: its jobs start, but fewer than its full share."""
    found = throttled(row)
    if found is None:
        return ()
    what = "its weight counts as" if found.action is Action.WEIGHT else "it may have active"
    counts = f"{what} {found.effective:g} instead of {found.original:g}"
    if found.action is Action.WEIGHT:
        counts += ", and its weights in pools are reduced alike"
    message = f"Tenant {row.id} was found noisy and is throttled: {counts}."
    return [
        Gate(
            "throttle",
            GateState.OPEN,
            message,
            name=row.id,
            since=found.since,
            until=found.until,
            numbers={"original": found.original, "effective": found.effective},
        )
    ]
