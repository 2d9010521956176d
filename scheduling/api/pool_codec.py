"""Encode and decode pools and the scheduling configuration. Spec: contract 20.2, 20.3."""

from collections.abc import Mapping
from typing import Any

from jobs.api.schemas import (
    BOOLEAN,
    NUMBER,
    QUEUE,
    SHORT_DURATION,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    optional,
    text,
)
from jobs.api.workers.schemas import POOL as NAME
from jobs.domain.dispatch.claim import MAX_WEIGHT, STRATEGIES, PriorityScope, Strategy
from jobs.domain.wire.durations import format_duration
from scheduling.domain.pool import MAX_CONCURRENCY, MAX_QUEUES, Cost, Scope, TenantWeights
from scheduling.domain.pool_request import MAX_TENANT, parse_scope, parse_strategy, parse_tenants
from scheduling.services.configuration import Defaults, Wanted
from scheduling.services.pools import PoolState

STRATEGY: Schema = {"type": "string", "enum": list(STRATEGIES)}
SCOPE: Schema = {
    "type": "string",
    "enum": [scope.value for scope in PriorityScope],
    "description": "Where priorities compete: inside a queue, or over all queues of a FETCH",
}
WEIGHT = integer(1, MAX_WEIGHT)
WEIGHTS: Schema = {"type": "object", "additionalProperties": WEIGHT}
PREVENTION_MEMBERS: Schema = {
    "enabled": BOOLEAN,
    "rotation_interval": {**SHORT_DURATION, "description": "From one second to one day"},
    "min_dispatch_ratio": {"type": "number", "minimum": 0, "maximum": 1},
}
FAIRNESS_MEMBERS: Schema = {
    "enabled": {**BOOLEAN, "description": "false: the oldest job first, of any tenant"},
    "strategy": {"const": "fair-share"},
    "weights": {
        **WEIGHTS,
        "propertyNames": text(1, MAX_TENANT),
        "description": "By tenant, with or without the prefix `tenant:`",
    },
    "default_weight": WEIGHT,
    "scope": {
        "type": "string",
        "enum": list(Scope),
        "description": "The queues over which the shares of a tenant count together",
    },
    "cost": {
        "type": "string",
        "enum": list(Cost),
        "description": "The charge of a job: 1, or its run time",
    },
}
FAIRNESS = obj(FAIRNESS_MEMBERS)
# cost by duration needs tenants that share each queue separately
SHARING: Schema = {
    "anyOf": [
        obj({}, optional({**FAIRNESS_MEMBERS, "scope": {"const": "queue"}})),
        obj({}, optional({**FAIRNESS_MEMBERS, "cost": {"const": "dispatch"}})),
    ]
}
MEMBERS: Schema = {
    "name": NAME,
    "id": NAME,
    "queues": array(QUEUE, minItems=1),
    "concurrency": {**integer(0), "description": "0: not bounded"},
    "concurrency_unlimited": BOOLEAN,
    "strategy": STRATEGY,
    "isolated": BOOLEAN,
    "starvation_prevention": obj(PREVENTION_MEMBERS),
    "tenant_fairness": maybe(FAIRNESS),
    "tenant": {
        **maybe(text(1)),
        "description": "Tenant whose jobs its workers get; null: any tenant",
    },
    "active_workers": integer(0),
    "workers": integer(0),
    "active_jobs": integer(0),
    "utilization": {**maybe(NUMBER), "description": "Active jobs by concurrency"},
    "static": {**BOOLEAN, "description": "Defined by the server's settings"},
}
POOL = component("Pool", obj(MEMBERS, {"weights": WEIGHTS}))
DETAIL = component("PoolDetail", obj({**MEMBERS, "pool": POOL}, {"weights": WEIGHTS}))
REQUEST_MEMBERS: Schema = {
    "queues": {
        "anyOf": [
            array(QUEUE, minItems=1, maxItems=MAX_QUEUES, uniqueItems=True),
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": MAX_QUEUES,
                "propertyNames": QUEUE,
                "additionalProperties": {"anyOf": [WEIGHT, obj({}, {"weight": maybe(WEIGHT)})]},
            },
        ]
    }
}
REQUEST = obj(
    REQUEST_MEMBERS,
    optional(
        {
            "name": NAME,
            "strategy": STRATEGY,
            "weights": {**WEIGHTS, "propertyNames": QUEUE},
            "concurrency": integer(1, MAX_CONCURRENCY),
            "isolated": BOOLEAN,
            "starvation_prevention": obj({}, optional(PREVENTION_MEMBERS)),
            "tenant_fairness": SHARING,
            "tenant": text(1, MAX_TENANT),
        }
    ),
)
# the same members, inside `pool` or at top level
PUT: Schema = {"anyOf": [REQUEST, obj({"pool": obj(REQUEST_MEMBERS)})]}
CONFIGURATION = component(
    "SchedulingConfiguration",
    obj(
        {
            "default_strategy": STRATEGY,
            "priority_scope": SCOPE,
            "tenant_fairness": FAIRNESS,
        }
    ),
)
CONFIGURE = obj(
    {},
    optional(
        {
            "default_strategy": STRATEGY,
            "priority_scope": SCOPE,
            "tenant_fairness": SHARING,
        }
    ),
)


def encode_pool(state: PoolState) -> dict[str, Any]:
    """Encode a pool with its current load."""
    pool = state.pool
    shown: dict[str, Any] = {
        "name": pool.name,
        "id": pool.name,
        "queues": list(pool.queues),
        "concurrency": pool.concurrency or 0,
        "concurrency_unlimited": pool.concurrency is None,
        "strategy": pool.strategy.wire,
        "isolated": pool.isolated,
        "starvation_prevention": {
            "enabled": pool.prevention.enabled,
            "rotation_interval": format_duration(pool.prevention.rotation_ms),
            "min_dispatch_ratio": pool.prevention.min_ratio,
        },
        "tenant_fairness": pool.tenants and _fairness(pool.tenants),
        "tenant": pool.tenant,
        "active_workers": state.active_workers,
        "workers": state.active_workers,
        "active_jobs": state.active_jobs,
        "utilization": pool.concurrency and round(state.active_jobs / pool.concurrency, 4),
        "static": state.is_static,
    }
    if pool.strategy is Strategy.WEIGHTED:
        shown["weights"] = dict(zip(pool.queues, pool.weights, strict=True))
    return shown


def both(state: PoolState) -> dict[str, Any]:
    """Encode a pool at top level and under `pool`, since clients read either."""
    shown = encode_pool(state)
    return {**shown, "pool": shown}


def encode_defaults(found: Defaults) -> dict[str, Any]:
    """Encode the scheduling configuration."""
    return {
        "default_strategy": found.strategy.wire,
        "priority_scope": str(found.scope),
        "tenant_fairness": _fairness(found.tenants),
    }


def decode_defaults(body: Mapping[str, Any]) -> Wanted:
    """Decode a configuration; the settings decide a member that is absent or null."""
    raw = body.get("default_strategy")
    strategy = None if raw is None else parse_strategy(raw, "default_strategy")
    return Wanted(
        strategy,
        parse_scope(body.get("priority_scope")),
        parse_tenants(body.get("tenant_fairness")),
    )


def _fairness(tenants: TenantWeights) -> dict[str, Any]:
    return {
        "enabled": tenants.enabled,
        "strategy": "fair-share",
        "weights": dict(tenants.weights),
        "default_weight": tenants.default,
        "scope": tenants.scope.value,
        "cost": tenants.cost.value,
    }
