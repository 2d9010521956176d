"""The actions of operators on rate limits."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.lanes.limits import WHEN_REACHED, LimitPolicy, parse_key, parse_policy
from jobs.services.lanes import limits
from jobs.services.read.clock import now

NUMBER = re.compile(r"[0-9]{1,10}")
MINUTES = re.compile(r"[1-9][0-9]{0,5}")
FIELDS = ("concurrency", "limit", "period")


def _override(form: QueryDict, who: Caller) -> str:
    key = parse_key(form.get("key", "").strip(), "key")
    given = {name: text for name in FIELDS if (text := form.get(name, "").strip())}
    policy = parse_policy(
        {name: int(text) if NUMBER.fullmatch(text) else text for name, text in given.items()}
    )
    if policy == LimitPolicy():
        raise InvalidRequest("concurrency, or limit and period, are required")
    minutes = form.get("minutes", "").strip()
    if minutes and not MINUTES.fullmatch(minutes):
        raise InvalidRequest.field("minutes", "must be from 1 to 999999", minutes[:50])
    until = now() + timedelta(minutes=int(minutes)) if minutes else None
    tenant = _tenant(form, who)
    policy = replace(policy, on_limit=form.get("on_limit") or _on_limit(key, tenant))
    if policy.on_limit not in WHEN_REACHED:
        raise InvalidRequest.field(
            "on_limit", "must be one of " + ", ".join(WHEN_REACHED), policy.on_limit[:50]
        )
    limits.override(key, policy, until, who, tenant)
    return f"Rate limit {key} is overridden{f' for {minutes} minutes' if minutes else ''}."


def _on_limit(key: str, tenant: str | None) -> str:
    """Return what the limit's own policy does with jobs over the limit."""
    try:
        return limits.state(key, tenant).policy.on_limit
    except NotFound:  # the override makes it
        return LimitPolicy().on_limit


def _end(form: QueryDict, who: Caller) -> str:
    key = form.get("id", "")
    limits.end_override(key, who, _tenant(form, who))
    return f"The override of {key} has ended."


def _tenant(form: QueryDict, who: Caller) -> str | None:
    return who.tenant or form.get("tenant", "").replace("\x00", "").strip() or None


ACTIONS: Final = (
    Action("limit-override", "limits.override", _override),
    Action("limit-end", "limits.override", _end),
)  # fmt: skip
