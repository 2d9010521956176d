"""The actions of operators on findings."""

from datetime import timedelta
from typing import Final

from django.http import QueryDict

from attention.services.mute import mute, unmute
from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest

HOURS: Final = {"1": "1 hour", "4": "4 hours", "24": "1 day", "168": "7 days", "720": "30 days"}


def _mute(form: QueryDict, who: Caller) -> str:
    hours = form.get("hours", "")
    if hours not in HOURS:
        raise InvalidRequest.field("hours", "must be one of the offered times", hours[:20])
    found = mute(form.get("id", ""), who.reason or "", timedelta(hours=int(hours)), who)
    return f"Muted for {HOURS[hours]}: {found.rule.title}, {found.hit.subject}."


def _unmute(form: QueryDict, who: Caller) -> str:
    found = unmute(form.get("id", ""), who)
    return f"No longer muted: {found.rule.title}, {found.hit.subject}."


ACTIONS: Final = (
    Action("attention-mute", "attention.mute", _mute, needs_reason=True),
    Action(
        "attention-unmute", "attention.mute", _unmute, "Unmute",
        ask="Show this finding in all lists again?",
    ),
)  # fmt: skip
