"""Stored throttles: their current effect and their events. Spec: MT 9.2, contract 21.5."""

from typing import Any

from jobs.domain.record.events import Kind
from jobs.services.record.emit import NewEvent
from tenancy.domain.throttle import Action, Hold, Reduction, Throttled
from tenancy.models import Tenant, Throttle


def throttle_of(row: Tenant) -> Throttle | None:
    """Return the stored throttle of a row; select it together with the row."""
    return getattr(row, "throttle", None)


def throttled(row: Tenant) -> Throttled | None:
    """Return the throttle of a tenant as it applies now."""
    throttle = throttle_of(row)
    if throttle is None or throttle.hold != Hold.APPLIED:
        return None
    return seen(row, throttle)


def seen(row: Tenant, throttle: Throttle) -> Throttled:
    """Return a throttle with the current configuration, which may have changed since it began."""
    action = Action(throttle.action)
    configured = configured_of(row, action)
    return Throttled(
        action,
        tuple(throttle.reasons),
        throttle.had if configured is None else configured,
        Reduction(action, throttle.factor, throttle.had).effective(configured),
        throttle.since,
        throttle.until,
    )


def configured_of(row: Tenant, action: Action) -> float | None:
    """Return the value that an action reduces; null: any number of active jobs."""
    return (row.fairness_weight or 1) if action is Action.WEIGHT else row.max_concurrency


def throttle_event(kind: Kind, row: Tenant, throttle: Throttle, **more: str) -> NewEvent:
    """Return the event of a throttle that begins or ends."""
    found = seen(row, throttle)
    data: dict[str, Any] = {
        "tenant_id": row.id,
        "reason": found.reasons[0],
        "reasons": list(found.reasons),
        **found.to_wire(),
        **more,
    }
    if throttle.hold == Hold.DRY_RUN:
        data["dry_run"] = True
    return NewEvent(kind, tenant=row.id, data=data)


def released(row: Tenant, throttle: Throttle, how: str) -> NewEvent:
    """Return the event of a throttle's end: `expired`, `manual`, or the tenant is `deleted`."""
    return throttle_event(Kind.TENANT_THROTTLE_RELEASED, row, throttle, released=how)
