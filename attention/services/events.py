"""The events of findings: each change of the list of open findings that are not muted."""

from datetime import datetime
from typing import Any, Final

from attention.domain.rule import Hit
from attention.queries.findings import Turned
from attention.services.words import Shown, event_data, for_tenant
from jobs.domain.record.events import Kind
from jobs.domain.wire.times import format_time
from jobs.services.record.emit import NewEvent, emit

KINDS: Final = {
    "opened": Kind.ATTENTION_OPENED,
    "closed": Kind.ATTENTION_CLOSED,
    "changed": Kind.ATTENTION_CHANGED,
    "unmuted": Kind.ATTENTION_UNMUTED,
}


def told(one: Turned) -> NewEvent:
    """Return the event of a change that a look has found."""
    hit = Hit(one.subject, one.tenant, one.since, one.jobs, one.tenants, one.facts)
    return _event(KINDS[one.turn], one.id, one.rule, hit, one.severity, one.since)


def muted(found: Shown, until: datetime) -> None:
    """Record that an operator hides a finding until a time, in the caller's transaction."""
    emit([_of(Kind.ATTENTION_MUTED, found, muted_until=format_time(until))])


def unmuted(found: Shown) -> None:
    """Record that an operator ended a mute, in the caller's transaction."""
    emit([_of(Kind.ATTENTION_UNMUTED, found)])


def _of(kind: Kind, found: Shown, **more: Any) -> NewEvent:
    return _event(kind, found.id, found.rule.id, found.hit, found.severity, found.since, **more)


def _event(
    kind: Kind, finding_id: str, rule: str, hit: Hit, severity: int, since: datetime, **more: Any
) -> NewEvent:
    if hit.tenant is not None:
        hit = for_tenant(hit)
    data = event_data(finding_id, rule, hit, severity, format_time(since))
    return NewEvent(kind, tenant=hit.tenant, data={**data, **more})
