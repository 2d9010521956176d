"""Endpoints under /ojs/v1/rate-limits. Spec: contract 27.3."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import (
    OBJECT,
    PAGINATION,
    TIME,
    array,
    component,
    integer,
    matching,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.queues import LIMITS
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.lanes.limits import KEY, LimitPolicy, parse_policy
from jobs.domain.wire.durations import format_duration
from jobs.domain.wire.times import format_time, parse_time
from jobs.services.lanes import limits
from jobs.services.lanes.limits import LimitState

OVERRIDE_PATH = "/ojs/v1/rate-limits/{key}/override"
LIMIT_KEY = matching(KEY)
OVERRIDE = obj(
    {},
    {**LIMITS, "expires_at": maybe(TIME)},
    anyOf=[
        {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
        for name in ("concurrency", "limit", "rate", "throttle", "max_per_second")
    ],
    dependentRequired={"limit": ["period"], "period": ["limit"]},
)
WINDOW = obj({"limit": integer(1), "period": text(1)})
INFO = component(
    "RateLimit",
    obj(
        {
            "key": text(1),
            "tenant_id": maybe(text(1)),
            "limit": maybe(integer(0)),
            "period": maybe(text(1)),
            "active": integer(0),
            "available": maybe(integer(0)),
            "waiting": integer(0),
            "waiting_count": integer(0),
            "concurrency": maybe(obj({"limit": integer(0), "active": integer(0)})),
            "rate": maybe(WINDOW),
            "throttle": maybe(WINDOW),
            "override": maybe(OBJECT),
        }
    ),
)
ITEM = obj({"key": text(1), "concurrency": integer(0), "active": integer(0)})


def encode(state: LimitState) -> dict[str, Any]:
    """Encode one limit."""
    policy = state.in_force
    window = {"limit": policy.rate, "period": policy.rate_ms and format_duration(policy.rate_ms)}
    if policy.rate is None:
        window = {"limit": policy.concurrency, "period": None}
        if policy.concurrency is not None:
            window["period"] = "concurrent"
    return {
        "key": state.key,
        "tenant_id": state.tenant,
        **window,
        "active": state.active,
        "available": _left(policy.concurrency, state.active),
        "waiting": state.waiting,
        "waiting_count": state.waiting,
        "concurrency": _concurrency(policy, state),
        "rate": _rate(policy, state),
        "throttle": _throttle(policy, state),
        "override": _override(state),
    }


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


def _concurrency(policy: LimitPolicy, state: LimitState) -> dict[str, Any] | None:
    if policy.concurrency is None:
        return None
    return {
        "limit": policy.concurrency,
        "active": state.active,
        "available": _left(policy.concurrency, state.active),
    }


def _rate(policy: LimitPolicy, state: LimitState) -> dict[str, Any] | None:
    if policy.rate is None:
        return None
    return {
        **policy.to_wire()["rate"],
        "current_count": state.started,
        "window_resets_at": state.window_resets_at and format_time(state.window_resets_at),
    }


def _throttle(policy: LimitPolicy, state: LimitState) -> dict[str, Any] | None:
    if policy.throttle is None:
        return None
    at = state.next_allowed_at
    return {**policy.to_wire()["throttle"], "next_allowed_at": at and format_time(at)}


def _override(state: LimitState) -> dict[str, Any] | None:
    if state.override is None:
        return None
    until = state.override_until
    rate = state.override.to_wire().get("rate") or {"limit": None, "period": None}
    return {
        **rate,
        **state.override.to_wire(),
        "concurrency": state.override.concurrency,
        "expires_at": until and format_time(until),
    }


class RateLimitCollection(OJSView):
    """List limits."""

    @operation(
        "listRateLimits",
        {
            200: obj(
                {
                    "items": array(INFO), "rate_limits": array(ITEM), "pagination": PAGINATION,
                    "total": integer(0),
                }
            )
        },
        query=QUERY,
    )  # fmt: skip
    def get(self, request: Request) -> Answer:
        """List the limits that jobs, queues or overrides have made, by key."""
        window = page(request)
        found, total = limits.states(
            self.principal.tenant, limit=window.limit, offset=window.offset
        )
        shown = [encode(state) for state in found]
        return Answer(
            {
                "items": shown,
                "rate_limits": [
                    {
                        "key": state.key,
                        "concurrency": state.in_force.concurrency or 0,
                        "active": state.active,
                        "available": _left(state.in_force.concurrency, state.active),
                    }
                    for state in found
                ],
                "pagination": window.answer(total),
                "total": total,
            }
        )


class RateLimitDetail(OJSView):
    """One limit and its override."""

    @operation(
        "getRateLimit",
        {200: INFO},
        refusals=(404,),
        path={"key": LIMIT_KEY},
        aliases={OVERRIDE_PATH: "getRateLimitOverride"},
    )
    def get(self, request: Request, key: str) -> Answer:
        """Show a limit; it exists once a job, a queue or an override has used its key."""
        return Answer(encode(limits.state(checked_key(key), self.principal.tenant)))

    @operation(
        "overrideRateLimit",
        {200: INFO},
        body=OVERRIDE,
        refusals=(404,),
        path={"key": LIMIT_KEY},
        aliases={OVERRIDE_PATH: "setRateLimitOverride"},
    )  # fmt: skip
    def put(self, request: Request, key: str) -> Answer:
        """Override the limits that jobs set for a key, until a time if one is given."""
        body = self.body()
        rate = body.get("rate")
        if rate is not None and not isinstance(rate, Mapping):
            raise InvalidRequest.field("rate", "must be an object of limit and period", rate)
        policy = parse_policy(body)
        if policy == LimitPolicy(on_limit=policy.on_limit):
            raise InvalidRequest.field("limit", "or concurrency, rate or throttle is required")
        until = _until(body)
        return Answer(encode(limits.override(checked_key(key), policy, until, self.caller)))

    @operation(
        "endRateLimitOverride",
        {204: None},
        refusals=(404,),
        path={"key": LIMIT_KEY},
        aliases={OVERRIDE_PATH: "deleteRateLimitOverride"},
    )
    def delete(self, request: Request, key: str) -> Answer:
        """End an override: the limits of jobs apply again."""
        limits.end_override(checked_key(key), self.caller)
        return Answer(None, status=204)


def checked_key(key: str) -> str:
    """Return a name that may be a limit's. Raises NotFound."""
    if not KEY.fullmatch(key):
        raise NotFound.of("rate limit", key)
    return key


def _until(body: Mapping[str, Any]) -> datetime | None:
    raw = body.get("expires_at")
    return None if raw is None else parse_time(raw, "expires_at")
