"""The dead letter under the admin prefix, and the rules that replay it. Spec: contract 28."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs import dead_letter as core
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    SHORT_DURATION,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire import members
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import Page, admin_page
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.durations import format_duration, parse_short_duration
from jobs.models import ReplayRule
from jobs.services.outcome.replay import replace_rules, rules

MAX_RULES, MAX_NAME, MAX_REPLAYS = 100, 100, 1000
DEFAULT_DELAY, DEFAULT_REPLAYS = "PT1H", 3
MATCHED = ("queue", "type", "error_type", "tenant")
RULE: Schema = component(
    "ReplayRule",
    obj(
        {"name": text(1, MAX_NAME)},
        {
            "filter": maybe(
                obj({}, {name: maybe(text()) for name in MATCHED}, additionalProperties=False)
            ),
            "delay": maybe(SHORT_DURATION),
            "max_replays": maybe(integer(1, MAX_REPLAYS)),
            "enabled": maybe(BOOLEAN),
        },
        additionalProperties=False,
    ),
)
RULES = obj({"rules": array(RULE)})


class AdminDeadLetter(core.DeadLetterCollection):
    """The list."""

    inherited = {"GET": "adminListDeadLetter", "DELETE": "adminEmptyDeadLetter"}

    def window(self, request: Request) -> Page:
        """Read the filter as the admin API has it. Raises InvalidRequest."""
        return admin_page(request)


class AdminDeadLetterStats(core.DeadLetterStats):
    """Its statistics."""

    inherited = {"GET": "adminGetDeadLetterStats"}


class AdminDeadLetterJob(core.DeadLetterJob):
    """One job."""

    inherited = {"GET": "adminGetDeadLetterJob"}

    @operation("adminDeleteDeadLetterJob", {204: None}, refusals=(404,))
    def delete(self, request: Request, job_id: str) -> Answer:
        """Delete a discarded job for good."""
        self.remove(job_id)
        return Answer(None, status=204)


class AdminDeadLetterRetry(core.DeadLetterRetry):
    """Retry of one job."""

    inherited = {"POST": "adminRetryDeadLetterJob"}


class AdminDeadLetterRetryAll(core.DeadLetterRetryAll):
    """Retry of many jobs."""

    inherited = {"POST": "adminRetryDeadLetter"}


class AdminDeadLetterPurge(core.DeadLetterPurge):
    """Deletion of many jobs."""

    inherited = {"POST": "adminPurgeDeadLetter"}


class ReplayRules(OJSView):
    """The replay rules."""

    @operation("getReplayRules", {200: RULES})
    def get(self, request: Request) -> Answer:
        """Show the rules."""
        return Answer({"rules": [encode_rule(rule) for rule in rules()]})

    @operation(
        "setReplayRules",
        {200: RULES},
        body=obj({"rules": array(RULE, maxItems=MAX_RULES)}),
    )
    def put(self, request: Request) -> Answer:
        """Replace the rules, all at once.

        Each minute a rule retries the oldest jobs that match and ended `delay` ago, 500 at most,
        and no job more than `max_replays` times.
        """
        replace_rules(decode_rules(self.body()), self.caller)
        return Answer({"rules": [encode_rule(rule) for rule in rules()]})


def encode_rule(rule: ReplayRule) -> dict[str, Any]:
    """Encode a rule; its filter has only members that are set."""
    asked = {name: getattr(rule, name) for name in MATCHED}
    return {
        "name": rule.name,
        "filter": {name: value for name, value in asked.items() if value is not None},
        "delay": format_duration(rule.delay_ms),
        "max_replays": rule.max_replays,
        "enabled": rule.enabled,
    }


def decode_rules(body: Mapping[str, Any]) -> list[ReplayRule]:
    """Read the rules. Raises InvalidRequest naming the member."""
    raw = body.get("rules")
    if not isinstance(raw, list) or len(raw) > MAX_RULES:
        raise InvalidRequest.field("rules", f"must be an array of at most {MAX_RULES} rules", raw)
    found = [_rule(n, item) for n, item in enumerate(raw)]
    names = [rule.name for rule in found]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise InvalidRequest.field(f"rules[{n}].name", "is used twice", name)
    return found


def _rule(n: int, raw: object) -> ReplayRule:
    place = f"rules[{n}]"
    if not isinstance(raw, dict):
        raise InvalidRequest.field(place, "must be an object", raw)
    if unknown := sorted(set(raw) - {"name", "filter", "delay", "max_replays", "enabled"}):
        raise InvalidRequest.field(f"{place}.{unknown[0]}"[:100], "is not a member of a rule")
    name = raw.get("name")
    enabled = True if raw.get("enabled") is None else raw["enabled"]
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise InvalidRequest.field(f"{place}.name", f"must be 1 to {MAX_NAME} characters", name)
    replays = members.integer(raw, "max_replays", low=1, high=MAX_REPLAYS)
    if not isinstance(enabled, bool):
        raise InvalidRequest.field(f"{place}.enabled", "must be true or false", enabled)
    return ReplayRule(
        name=name,
        position=n,
        delay_ms=_delay(place, raw),
        max_replays=DEFAULT_REPLAYS if replays is None else replays,
        enabled=enabled,
        **_matched(place, raw.get("filter")),
    )


def _delay(place: str, raw: Mapping[str, Any]) -> int:
    delay = DEFAULT_DELAY if raw.get("delay") is None else raw["delay"]
    try:
        return parse_short_duration(delay)
    except ValueError as problem:
        raise InvalidRequest.field(f"{place}.delay", str(problem), delay) from None


def _matched(place: str, raw: object) -> dict[str, str | None]:
    given = {} if raw is None else raw
    if not isinstance(given, dict):
        raise InvalidRequest.field(f"{place}.filter", "must be an object", raw)
    if unknown := sorted(set(given) - set(MATCHED)):
        raise InvalidRequest.field(
            f"{place}.filter.{unknown[0]}"[:100], "is not a filter of a rule"
        )
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise InvalidRequest.field(f"{place}.filter.{name}", "must be a string", value)
    return {name: given.get(name) or None for name in MATCHED}
