"""Encode and decode tenants. Spec: contract 21.2."""

from collections.abc import Mapping
from typing import Any

from jobs.api.schemas import (
    BOOLEAN,
    DURATION,
    NUMBER,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    optional,
    text,
)
from jobs.api.wire.admin import REASON
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import Unprocessable
from jobs.domain.states import State
from jobs.domain.wire.bounds import MAX_TENANT
from jobs.domain.wire.times import format_time
from tenancy.conf import conf
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.tenant import (
    ISOLATIONS,
    MAX_BOOST,
    MAX_WEIGHT,
    MIN_WEIGHT,
    QuotaMode,
    Source,
    Standing,
    TenantLimits,
)
from tenancy.domain.tenant_id import PATTERN
from tenancy.domain.tenant_request import LIMITS, MAX_NAME, MIRRORS, MOST, SHOWN, parse_limits
from tenancy.domain.throttle import Action, Throttled
from tenancy.models import Tenant
from tenancy.services.stats import Stats, Summary
from tenancy.services.tenant_cache import limits_of, policy_of

TENANT_ID: Schema = {
    "anyOf": [
        text(1, MAX_TENANT, pattern=f"^{PATTERN.pattern}$"),
        {**text(1, MAX_TENANT), "description": "The default tenant of the server"},
    ]
}
COUNT = integer(0, MOST)
RATE = obj({"limit": integer(1, MOST), "period": DURATION}, additionalProperties=False)
LIMIT_MEMBERS: Schema = {
    "max_concurrency": COUNT,
    "max_enqueue_rate": RATE,
    "max_queue_depth": {**COUNT, "description": "Available and scheduled jobs"},
    "max_scheduled": COUNT,
    "max_queues": {**COUNT, "description": "Queues with jobs that have not ended"},
}
SHOWN_LIMITS = obj(
    optional(
        {
            **LIMIT_MEMBERS,
            "max_concurrent_jobs": {**COUNT, "description": "Mirrors max_concurrency"},
            "max_jobs_per_second": {**COUNT, "description": "Mirrors max_enqueue_rate, rounded"},
        }
    )
)
JOBS = obj({state.value: integer(0) for state in State})
BOOST = integer(-MAX_BOOST, MAX_BOOST)
STATE: Schema = {"type": "string", "enum": [str(one) for one in Standing]}
REASON_CODE: Schema = {"type": "string", "enum": [str(one) for one in Reason]}
SIGNAL = component(
    "NoiseSignal",
    obj(
        {
            "reason": REASON_CODE,
            "value": NUMBER,
            "compared_with": {
                **NUMBER,
                "description": "Median or mean of the other tenants; active jobs: sum of all",
            },
            "threshold": {**NUMBER, "description": "The value exceeds it times compared_with"},
        }
    ),
)
THROTTLE = component(
    "TenantThrottle",
    obj(
        {
            "action": {"type": "string", "enum": [f"{one}_reduced" for one in Action]},
            "reasons": array(REASON_CODE),
            "since": TIME,
            "until": TIME,
        },
        {f"{which}_{one}": NUMBER for one in Action for which in ("original", "effective")},
    ),
)
MEMBERS: Schema = {
    "tenant_id": text(1),
    "id": text(1),
    "name": text(1),
    "state": STATE,
    "source": {"type": "string", "enum": [str(one) for one in Source]},
    "limits": SHOWN_LIMITS,
    "fairness_weight": NUMBER,
    "effective_weight": NUMBER,
    "priority_boost": BOOST,
    "quota_mode": {"type": "string", "enum": [str(one) for one in QuotaMode]},
    "isolation": {"type": "string", "enum": list(ISOLATIONS)},
    "stats": obj({"queues": integer(0), "jobs": JOBS, "workers": integer(0)}),
    "created_at": TIME,
    "updated_at": TIME,
    "noisy": BOOLEAN,
    "noisy_reasons": array(REASON_CODE),
    "noisy_signals": array(SIGNAL),
    "throttle": maybe(THROTTLE),
}
TENANT = component("Tenant", obj(MEMBERS))
DETAIL = component("TenantDetail", obj({**MEMBERS, "tenant": TENANT}))
WEIGHT: Schema = {"type": "number", "minimum": MIN_WEIGHT, "maximum": MAX_WEIGHT}
SENT_LIMITS = obj(
    {},
    {
        **optional(LIMIT_MEMBERS),
        "max_concurrent_jobs": {"description": "Read-only: follows from max_concurrency"},
        "max_jobs_per_second": {"description": "Read-only: follows from max_enqueue_rate"},
    },
    additionalProperties=False,
)
PUT = obj(
    {},
    {name: {"description": "Read-only"} for name in sorted(SHOWN)}
    | optional(
        {
            "name": text(1, MAX_NAME),
            "state": STATE,
            "limits": SENT_LIMITS,
            "fairness_weight": WEIGHT,
            "priority_boost": BOOST,
            "quota_mode": {"type": "string", "enum": [str(one) for one in QuotaMode]},
            "isolation": {"type": "string", "enum": list(ISOLATIONS)},
        }
    ),
    additionalProperties=False,
)
# flat, or under `limits`: a limit that is given twice is refused
PUT_LIMITS: Schema = {
    "anyOf": [
        obj({}, {**SENT_LIMITS["properties"], "reason": REASON}, additionalProperties=False),
        obj({}, {"limits": maybe(SENT_LIMITS), "reason": REASON}, additionalProperties=False),
    ]
}
WITH_REASON = obj({}, {"reason": REASON}, additionalProperties=False)
USED = obj({"limit": integer(0), "current": integer(0)})
STATS = component(
    "TenantStats",
    obj(
        {
            "tenant_id": text(1),
            "total_jobs": integer(0),
            "jobs": obj(
                {
                    **{state.value: integer(0) for state in State},
                    "completed_24h": integer(0),
                    "failed_24h": integer(0),
                }
            ),
            "throughput": obj({"processed_per_minute": NUMBER, "enqueued_per_minute": NUMBER}),
            "limits": obj({}, dict.fromkeys(LIMITS, USED)),
            "fairness": obj(
                {
                    "weight": NUMBER,
                    "effective_weight": NUMBER,
                    "effective_share": {"type": "number", "minimum": 0, "maximum": 1},
                    "actual_share": {"type": "number", "minimum": 0, "maximum": 1},
                }
            ),
        }
    ),
)


def encode_tenant(row: Tenant, summary: Summary, *, is_own: bool = False) -> dict[str, Any]:
    """Encode a tenant and its figures; `is_own` hides figures of other tenants from a tenant."""
    return {
        "tenant_id": row.id,
        "id": row.id,
        "name": row.name or row.id,  # the browser interface needs a name
        "state": row.state,
        "source": row.source,
        "limits": limits_of(row).to_wire(),
        "fairness_weight": row.fairness_weight or 1,
        "effective_weight": policy_of(row).effective_weight,
        "priority_boost": row.priority_boost,
        "quota_mode": row.quota_mode,
        "isolation": row.isolation or conf().isolation,
        "stats": {
            "queues": summary.queues,
            "jobs": _jobs(summary),
            "workers": summary.workers,
        },
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "noisy": summary.noisy,
        "noisy_reasons": list(summary.noisy_reasons),
        "noisy_signals": [] if is_own else [_signal(one) for one in summary.signals],
        "throttle": summary.throttle and _throttle(summary.throttle),
    }


def _signal(one: Signal) -> dict[str, Any]:
    return {
        "reason": str(one.reason),
        "value": one.value,
        "compared_with": one.compared_with,
        "threshold": one.threshold,
    }


def _throttle(found: Throttled) -> dict[str, Any]:
    return {**found.to_wire(), "reasons": list(found.reasons), "since": format_time(found.since)}


def both(row: Tenant, summary: Summary, *, is_own: bool = False) -> dict[str, Any]:
    """Encode a tenant at top level and under `tenant`, since clients read either."""
    shown = encode_tenant(row, summary, is_own=is_own)
    return {**shown, "tenant": shown}


def encode_stats(found: Stats) -> dict[str, Any]:
    """Encode the statistics of a tenant."""
    jobs = _jobs(found.summary)
    return {
        "tenant_id": found.tenant.id,
        "total_jobs": sum(jobs.values()),
        "jobs": {
            **jobs, "completed_24h": found.completed_24h, "failed_24h": found.failed_24h,
        },
        "throughput": {
            "processed_per_minute": found.rates.completed,
            "enqueued_per_minute": found.rates.enqueued,
        },
        "limits": {
            name: {"limit": most, "current": held} for name, (most, held) in found.used.items()
        },
        "fairness": {
            "weight": found.tenant.fairness_weight or 1,
            "effective_weight": policy_of(found.tenant).effective_weight,
            "effective_share": found.effective_share,
            "actual_share": found.actual_share,
        },
    }  # fmt: skip


def _jobs(summary: Summary) -> dict[str, int]:
    return {state.value: number for state, number in summary.jobs.items()}


def decode_limits(body: Mapping[str, Any], before: TenantLimits) -> TenantLimits:
    """Read limits given flat or under `limits`. Raises Unprocessable."""
    raw = body.get("limits")
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise Unprocessable.field("limits", "must be an object", raw)
    flat = {name: value for name, value in body.items() if name not in {"limits", "reason"}}
    if twice := sorted(flat.keys() & raw.keys()):
        raise Unprocessable.field(twice[0], "must not be given twice", flat[twice[0]])
    for name, value in flat.items():
        if name not in {*LIMITS, *MIRRORS}:
            raise Unprocessable.field(name, "is not a limit of tenants", value)
    return parse_limits({**flat, **raw}, before)


def decode_reason(body: Mapping[str, Any]) -> str | None:
    """Read the reason of an action. Raises Unprocessable."""
    raw = body.get("reason")
    if raw is not None and (not isinstance(raw, str) or len(raw) > MAX_REASON or "\0" in raw):
        raise Unprocessable.field("reason", f"must be a text of at most {MAX_REASON}", raw)
    return raw or None


def require_only(body: Mapping[str, Any], *names: str) -> None:
    """Refuse unknown members. Raises Unprocessable."""
    for name in body:
        if name not in names:
            raise Unprocessable.field(name, "is not a member of this request", body[name])
