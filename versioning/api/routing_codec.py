"""Encode and decode routing rules. Spec: contract 22.4."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from jobs.api.schemas import (
    DURATION,
    SHORT_DURATION,
    STATE,
    TIME,
    TYPE,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    optional,
    text,
)
from jobs.domain.errors import NotFound, Unprocessable
from jobs.domain.states import state_of as job_state
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.durations import format_duration
from jobs.domain.wire.names import TYPE_PATTERN
from versioning.api.schema_codec import SENT_VERSION, VERSION
from versioning.domain.canary import WHOLE, Mode, OnNoWorker
from versioning.domain.canary_request import (
    ACTION,
    MAX_RULES,
    MAX_SAMPLES,
    MAX_SIGNIFICANCE,
    MAX_STEPS,
    MAX_WEIGHT,
    guard_of,
    parse_revision,
    plan_of,
)
from versioning.domain.evidence import Guard
from versioning.models import Routing
from versioning.queries import TouchedJob
from versioning.services.observed import Observed
from versioning.services.routing import PlanState, state_of

WEIGHT: Schema = {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT}
ENDS: Final = {True: "failed", False: "acked"}  # end of the version's last attempt of a job
MS: Schema = {"type": "number", "minimum": 0}
RATE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
PERCENT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": WHOLE}
MODE: Schema = {"type": "string", "enum": [str(one) for one in Mode]}
ON_NO_WORKER: Schema = {"type": "string", "enum": [str(one) for one in OnNoWorker]}
RULE = obj({"version": VERSION, "weight": WEIGHT})
SIGNIFICANCE: Schema = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": MAX_SIGNIFICANCE,
    "description": "How often equal versions may look unequal; null: the threshold alone decides",
}
GUARD = component(
    "AutoRollback",
    obj(
        {
            "error_rate_threshold": RATE,
            "evaluation_window": DURATION,
            "min_samples": integer(1),
            "action": {"const": ACTION},
            "significance": maybe(SIGNIFICANCE),
            "cool_down": DURATION,
        }
    ),
)
PLAN = component(
    "RoutingPlan",
    obj(
        {
            "steps": array(PERCENT),
            "bake_time": DURATION,
            "min_samples": integer(0),
            "step": {**integer(0), "description": "From 0"},
            "step_at": TIME,
            "state": {"type": "string", "enum": [str(one) for one in PlanState]},
        }
    ),
)
OBSERVED = component(
    "VersionOutcomes",
    obj(
        {
            "version": text(1),
            "acked": integer(0),
            "failed": integer(0),
            "error_rate": maybe(RATE),
            "low": {**RATE, "description": "Of the Wilson interval of 95 percent"},
            "high": RATE,
            "p50_ms": {**maybe(MS), "description": "Of the runs that were acknowledged"},
            "p95_ms": maybe(MS),
        }
    ),
)
TOUCHED = component(
    "TouchedJob",
    obj(
        {
            "id": text(1),
            "attempt_ended": {"type": "string", "enum": list(ENDS)},
            "ended_at": TIME,
            "state": {
                **maybe(STATE),
                "description": "Of the job now, with the rest null where it is gone",
            },
            "queue": maybe(text(1)),
            "tenant_id": maybe(text(1)),
            "version": {"description": "As sent; null: without one"},
        }
    ),
)
RULES = component(
    "RoutingRules",
    obj(
        {"type": text(1), "rules": array(RULE)},
        {
            "mode": MODE,
            "on_no_worker": ON_NO_WORKER,
            "fallback_after": DURATION,
            "auto_rollback": maybe(GUARD),
            "plan": maybe(PLAN),
            "revision": {**integer(1), "description": "That jobs are drawn by"},
            "rolled_back_at": maybe(TIME),
            "rolled_back_from": maybe(text(1)),
            "outcomes": {
                **array(OBSERVED),
                "description": "Of attempts in the evaluation window, since the last PUT",
            },
            "p_value": {
                **maybe(RATE),
                "description": "Least significance at which the newest version fails more often",
            },
            "touched": {
                **maybe(array(TOUCHED)),
                "description": "Jobs with attempts of the version that was rolled back, latest "
                "first; null: none was. See admin/versions/{type}/touched",
            },
            "created_at": TIME,
            "updated_at": TIME,
        },
    ),
)
REVISION: Schema = {
    **maybe(integer(0)),
    "description": "Of the rules to replace: refused where they have changed; 0: there are none",
}
PUT = obj(
    {
        "rules": array(
            obj(
                {"version": SENT_VERSION, "weight": WEIGHT},
                additionalProperties=False,
            ),
            minItems=1,
            maxItems=MAX_RULES,
        )
    },
    {
        "type": maybe(TYPE),
        "mode": maybe(MODE),
        "on_no_worker": maybe(ON_NO_WORKER),
        "fallback_after": maybe(SHORT_DURATION),
        "auto_rollback": maybe(
            obj(
                {"error_rate_threshold": RATE},
                optional(
                    {
                        "evaluation_window": SHORT_DURATION,
                        "min_samples": integer(1, MAX_SAMPLES),
                        "action": {"const": ACTION},
                        "significance": SIGNIFICANCE,
                        "cool_down": SHORT_DURATION,
                    }
                ),
                additionalProperties=False,
            )
        ),
        "plan": maybe(
            obj(
                {
                    "steps": array(PERCENT, minItems=1, maxItems=MAX_STEPS),
                    "bake_time": SHORT_DURATION,
                },
                {"min_samples": maybe(integer(0, MAX_SAMPLES))},
                additionalProperties=False,
            )
        ),
        "revision": REVISION,
    },
    additionalProperties=False,
)
ACT = obj({}, {"revision": REVISION}, additionalProperties=False)


def encode_rules(row: Routing) -> dict[str, Any]:
    """Encode the effective rules of a type."""
    guard = guard_of(row.guard)
    return {
        "type": row.type,
        "rules": row.rules,
        "mode": row.mode,
        "on_no_worker": row.on_no_worker,
        "fallback_after": format_duration(row.fallback_ms),
        "auto_rollback": None if guard is None else encode_guard(guard),
        "plan": encode_plan(row),
        "revision": row.revision,
        "rolled_back_at": row.rolled_back_at,
        "rolled_back_from": row.rolled_back_from,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def encode_guard(guard: Guard) -> dict[str, Any]:
    """Encode the conditions of an automatic rollback."""
    return {
        "error_rate_threshold": guard.threshold,
        "evaluation_window": format_duration(guard.window_ms),
        "min_samples": guard.min_samples,
        "action": ACTION,
        "significance": guard.significance,
        "cool_down": format_duration(guard.cool_down_ms),
    }


def encode_plan(row: Routing) -> dict[str, Any] | None:
    """Encode a plan and its progress."""
    plan = plan_of(row.plan)
    if plan is None or row.step is None:
        return None
    return {
        "steps": list(plan.steps),
        "bake_time": format_duration(plan.bake_ms),
        "min_samples": plan.min_samples,
        "step": row.step,
        "step_at": row.step_at,
        "state": state_of(row),
    }


def encode_detail(row: Routing, observed: Observed) -> dict[str, Any]:
    """Encode rules with the outcomes of the versions."""
    return {
        **encode_rules(row),
        "outcomes": [
            {
                "version": str(one.version),
                "acked": one.outcomes.acked,
                "failed": one.outcomes.failed,
                "error_rate": one.outcomes.rate,
                "low": one.interval.low,
                "high": one.interval.high,
                "p50_ms": one.ran and one.ran.p50_ms,
                "p95_ms": one.ran and one.ran.p95_ms,
            }
            for one in observed.versions
        ],
        "p_value": observed.p_value,
        "touched": None
        if observed.touched is None
        else [encode_touched(one) for one in observed.touched],
    }


def encode_touched(one: TouchedJob) -> dict[str, Any]:
    """Encode a touched job with its current state."""
    return {
        "id": one.id,
        "attempt_ended": ENDS[one.has_failed],
        "ended_at": one.at,
        "state": None if one.state is None else job_state(one.state),
        "queue": one.queue,
        "tenant_id": one.tenant,
        "version": None if one.version is None else orjson.loads(one.version),
    }


def decode_act(body: Mapping[str, Any]) -> int | None:
    """Read the revision that an action on rules is meant for, or None. Raises Unprocessable."""
    for name in body:
        if name != "revision":
            raise Unprocessable.field(name[:40], "is not known")
    return parse_revision(body.get("revision"))


def type_of_path(job_type: str) -> str:
    """Return a valid type from a path. Raises NotFound."""
    if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
        raise NotFound.of("type", job_type)
    return job_type
