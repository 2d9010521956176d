"""Mute the findings of a rule about a subject, with a reason and until a time; audited."""

from datetime import timedelta
from typing import Final

from django.db.models.functions import Now

from attention.models import Mute
from attention.services import events
from attention.services.listing import show
from attention.services.words import Shown
from jobs.database import atomic
from jobs.domain.access.caller import MAX_REASON, Caller
from jobs.domain.errors import InvalidRequest
from jobs.services.audit.audit import audited

LONGEST: Final = timedelta(days=90)


def mute(finding_id: str, reason: str, duration: timedelta, caller: Caller) -> Shown:
    """Mute a finding and its returns; return it. A further mute replaces the first.

    Raises NotFound, InvalidRequest.
    """
    reason = reason.replace("\0", "").strip()
    if not timedelta() < duration <= LONGEST:
        raise InvalidRequest.field("duration", f"must be above 0 and at most {LONGEST.days} days")
    if not reason or len(reason) > MAX_REASON:
        raise InvalidRequest.field("reason", f"must have 1 to {MAX_REASON} characters")
    found = show(finding_id, None)
    target = f"{found.rule.id}:{found.hit.subject}"
    with audited(caller, "attention.muted", target, reason=reason) as data:
        data |= {"finding_id": found.id, "duration_s": int(duration.total_seconds())}
        values = {"until": Now() + duration, "reason": reason, "actor": caller.name, "at": Now()}
        Mute.objects.update_or_create(
            rule=found.rule.id, subject=found.hit.subject, defaults=values
        )
        shown = show(finding_id, None)
        if shown.mute and not shown.ended_at:
            events.muted(shown, shown.mute.until)
    return shown


def unmute(finding_id: str, caller: Caller) -> Shown:
    """End the mute of a finding, if there is one; return the finding. Raises NotFound."""
    found = show(finding_id, None)
    with atomic():
        mutes = Mute.objects.filter(rule=found.rule.id, subject=found.hit.subject)
        if mutes.delete()[0]:
            target = f"{found.rule.id}:{found.hit.subject}"
            with audited(caller, "attention.unmuted", target) as data:
                data["finding_id"] = found.id
                if not found.ended_at:
                    events.unmuted(found)
    return show(finding_id, None)
