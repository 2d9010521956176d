"""Parse a pool from a request or from the settings. Spec: contract 20.2.

All members are checked; an error raises Unprocessable and names the member.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from jobs.domain.dispatch.claim import POOL_PATTERN, STRATEGIES, PriorityScope, Strategy
from jobs.domain.dispatch.rotation_request import parse_weight, parse_weights
from jobs.domain.errors import Unprocessable, Unsupported
from jobs.domain.wire.durations import parse_short_duration
from jobs.domain.wire.names import QUEUE_PATTERN
from scheduling.domain.errors import InfeasibleRatio
from scheduling.domain.pool import (
    MAX_CONCURRENCY,
    MAX_QUEUES,
    MAX_TENANTS,
    Cost,
    Pool,
    Prevention,
    Scope,
    TenantWeights,
)

OneOf = TypeVar("OneOf", bound=StrEnum)

PREFIX: Final = "tenant:"
MAX_TENANT: Final = 256
MIN_ROTATION_MS, MAX_ROTATION_MS = 1_000, 86_400_000


def parse_pool(name: str, body: Mapping[str, Any]) -> Pool:
    """Build a pool from the body of PUT, bare or inside `pool`.

    Raises Unprocessable, InfeasibleRatio, Unsupported.
    """
    raw = body.get("pool", body)
    if not isinstance(raw, Mapping):
        raise Unprocessable.field("pool", "must be an object", raw)
    if not POOL_PATTERN.fullmatch(name):
        raise Unprocessable.field(
            "name", "must be 1 to 128 letters, digits, dots, underscores or hyphens", name
        )
    if raw.get("name") is not None and raw["name"] != name:
        raise Unprocessable.field("name", "must be that of the path", raw.get("name"))
    weights = _queues(raw)
    pool = Pool(
        name=name,
        queues=tuple(weights),
        weights=tuple(weights.values()),
        strategy=parse_strategy(raw.get("strategy")),
        concurrency=_concurrency(raw),
        isolated=_flag(raw, "isolated", "isolated"),
        prevention=_prevention(raw.get("starvation_prevention")),
        tenants=parse_tenants(raw.get("tenant_fairness")),
        tenant=_tenant(raw.get("tenant")),
    )
    if not pool.prevention.is_feasible(len(pool.queues)):
        raise InfeasibleRatio.field(
            "starvation_prevention.min_dispatch_ratio",
            "adds up to more than 1 over the queues",
            pool.prevention.min_ratio,
        )
    return pool


def parse_strategy(raw: object, name: str = "strategy") -> Strategy:
    """Read a strategy; null: round-robin."""
    if raw is None:
        return Strategy.ROUND_ROBIN
    if not isinstance(raw, str) or raw not in STRATEGIES:
        raise Unprocessable.field(name, f"must be one of {', '.join(STRATEGIES)}", raw)
    return STRATEGIES[raw]


def parse_scope(raw: object) -> PriorityScope | None:
    """Read where priorities compete; None if absent or null."""
    if raw is None:
        return None
    if not isinstance(raw, str) or raw not in list(PriorityScope):
        raise Unprocessable.field(
            "priority_scope", f"must be one of {', '.join(PriorityScope)}", raw
        )
    return PriorityScope(raw)


def _queues(raw: Mapping[str, Any]) -> dict[str, int]:
    """Return weights by queue, in the order of the request."""
    given = raw.get("queues")
    if not isinstance(given, list | Mapping) or not 1 <= len(given) <= MAX_QUEUES:
        raise Unprocessable.field(
            "queues", f"must be an array of 1 to {MAX_QUEUES} names, or an object", given
        )
    for name in given:
        if not isinstance(name, str) or not QUEUE_PATTERN.fullmatch(name):
            raise Unprocessable.field("queues", "must hold valid queue names", name)
    if len(set(given)) < len(given):
        raise Unprocessable.field("queues", "must not name a queue twice", given)
    own = _inline(given) if isinstance(given, Mapping) else {}
    weights = parse_weights(raw.get("weights"), given)
    for name in own.keys() & weights.keys():
        if own[name] != weights[name]:
            raise Unprocessable.field(
                f"weights.{name}", "differs from the weight in queues", weights[name]
            )
    return {name: weights.get(name, own.get(name, 1)) for name in given}


def _inline(given: Mapping[str, Any]) -> dict[str, int]:
    """Return the weights inside `queues` itself: an integer, or an object with a weight."""
    found: dict[str, int] = {}
    for name, said in given.items():
        weight = said.get("weight") if isinstance(said, Mapping) else said
        if weight is None and isinstance(said, Mapping):
            continue
        found[name] = parse_weight(f"queues.{name}", weight)
    return found


def _concurrency(raw: Mapping[str, Any]) -> int | None:
    given = raw.get("concurrency")
    # an answer has 0 for "not bounded", and clients may send an answer back
    if given is None or (given == 0 and raw.get("concurrency_unlimited") is True):
        return None
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if (
        not isinstance(given, int)
        or isinstance(given, bool)
        or not 1 <= given <= MAX_CONCURRENCY
        or raw.get("concurrency_unlimited") is True
    ):
        raise Unprocessable.field(
            "concurrency", f"must be an integer from 1 to {MAX_CONCURRENCY}", given
        )
    return given


def _tenant(raw: object) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_TENANT or "\0" in raw:
        raise Unprocessable.field("tenant", "must name a tenant", raw)
    return raw


def _flag(raw: Mapping[str, Any], name: str, path: str, *, default: bool = False) -> bool:
    given = raw.get(name)
    if given is None:
        return default
    if not isinstance(given, bool):
        raise Unprocessable.field(path, "must be true or false", given)
    return given


def _prevention(raw: object) -> Prevention:
    path = "starvation_prevention"
    if raw is None:
        return Prevention()
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object", raw)
    ratio = raw.get("min_dispatch_ratio")
    if ratio is not None and (
        not isinstance(ratio, int | float) or isinstance(ratio, bool) or not 0 <= ratio <= 1
    ):
        raise Unprocessable.field(
            f"{path}.min_dispatch_ratio", "must be a number from 0 to 1", ratio
        )
    # a configured ratio applies unless `enabled` is explicitly false. D-FS-11
    enabled = _flag(raw, "enabled", f"{path}.enabled", default=ratio is not None)
    default = Prevention()
    return Prevention(
        enabled=enabled,
        rotation_ms=_rotation(raw.get("rotation_interval"), default.rotation_ms),
        min_ratio=default.min_ratio if ratio is None else float(ratio),
    )


def _rotation(raw: object, default: int) -> int:
    if raw is None:
        return default
    name = "starvation_prevention.rotation_interval"
    try:
        ms = parse_short_duration(raw)
    except ValueError as problem:
        raise Unprocessable.field(name, str(problem), raw) from None
    if not MIN_ROTATION_MS <= ms <= MAX_ROTATION_MS:
        raise Unprocessable.field(name, "must be from one second to one day", raw)
    return ms


def parse_tenants(raw: object) -> TenantWeights | None:
    """Read `tenant_fairness`; None if absent or null."""
    path = "tenant_fairness"
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object", raw)
    if raw.get("strategy") not in (None, "fair-share"):
        raise Unsupported.field(f"{path}.strategy", "must be fair-share", raw["strategy"])
    default = raw.get("default_weight")
    cost = _choice(raw, "cost", Cost.DISPATCH)
    scope = _choice(raw, "scope", Scope.QUEUE)
    if cost is Cost.DURATION and scope is not Scope.QUEUE:
        # short jobs get back a part of their charge, so virtual times would fall that bound other
        # queues
        raise Unsupported.field(f"{path}.cost", f"must be dispatch with scope {scope}", raw["cost"])
    return TenantWeights(
        _tenant_weights(raw.get("weights")),
        1 if default is None else parse_weight(f"{path}.default_weight", default),
        _flag(raw, "enabled", f"{path}.enabled", default=True),
        cost,
        scope,
    )


def _choice(raw: Mapping[str, Any], name: str, default: OneOf) -> OneOf:
    """Read a member of the enumeration that `default` belongs to."""
    given, kind = raw.get(name), type(default)
    if given is None:
        return default
    if not isinstance(given, str) or given not in list(kind):
        path = f"tenant_fairness.{name}"
        raise Unprocessable.field(path, f"must be one of {', '.join(kind)}", given)
    return kind(given)


def _tenant_weights(raw: object) -> dict[str, int]:
    path = "tenant_fairness.weights"
    if raw is None:
        return {}
    if not isinstance(raw, Mapping) or len(raw) > MAX_TENANTS:
        raise Unprocessable.field(path, f"must be an object of at most {MAX_TENANTS} members", raw)
    found: dict[str, int] = {}
    for key, weight in raw.items():
        tenant = key.removeprefix(PREFIX)
        if not 1 <= len(tenant) <= MAX_TENANT or "\0" in tenant:
            raise Unprocessable.field(path, "must name tenants", key)
        if tenant in found:
            raise Unprocessable.field(path, "must not name a tenant twice", key)
        found[tenant] = parse_weight(f"{path}.{key}", weight)
    return found
