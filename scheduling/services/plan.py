"""Decide for a FETCH which queues it may take jobs from, and their rotation. Spec: FS 5 to 8.

Steps 4 and 6 of contract 20.5; the claim does the rest.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import orjson

from jobs.domain.dispatch.claim import (
    STRATEGIES,
    ClaimPlan,
    FetchRequest,
    PriorityScope,
    QueueRotation,
    Strategy,
)
from jobs.domain.dispatch.rotation_request import parse_weights
from jobs.domain.errors import InvalidRequest, TenantMismatch, Unprocessable
from jobs.services.lanes import bindings, configuration
from scheduling.conf import conf
from scheduling.domain.pool import Pool
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools


def plan(claim: ClaimPlan, request: FetchRequest) -> ClaimPlan:
    """Narrow a claim by its worker's pool; without a pool the worker's own request counts.

    Raises InvalidRequest and Unprocessable; TenantMismatch if the worker's tenant is not the
    pool's.
    """
    pools = pool_cache.current()
    try:
        planned = _by(pools, claim, request)
    except (InvalidRequest, Unprocessable, TenantMismatch):
        if pools.version == configuration.version():
            raise
    else:
        # A claim detects a change of the pools by itself. A plan without queues runs no claim, and
        # a process that serves only such requests would never see the change.
        if planned.queues or pools.version == configuration.version():
            return planned
    pool_cache.cache.clear()
    return _by(pool_cache.current(), claim, request)


def _by(pools: Pools, claim: ClaimPlan, request: FetchRequest) -> ClaimPlan:
    pool = pools.governing(request.pool)
    if pool is None:
        _require(request)
    queues = _queues(claim, request, pool, pools)
    return replace(
        claim,
        queues=queues,
        tenant=_tenant(pool, request),
        pool=pool.name if pool else request.pool,
        pool_cap=pool.concurrency if pool else None,
        rotation=_of_pool(pool, queues, pools) if pool else _of_request(pools, request, queues),
        config_version=pools.version,
        non_monotonic=frozenset(q for q in queues if pools.sharing_policy_of(q).is_non_monotonic),
        scopes={
            q: scope for q in queues if (scope := pools.sharing_policy_of(q).scope) is not None
        },
    )


def require_pool(worker_id: str | None, pool: str | None) -> None:
    """Refuse a worker without a pool if the settings require one. Spec: D-FS-6.

    A pool called `default` governs every worker that names no pool. Raises Unprocessable.
    """
    if pool is not None or not conf().require_pool:
        return
    if pool_cache.current().governing(None) is not None:
        return
    if worker_id is None or bindings.find(worker_id) is None:
        raise Unprocessable.field("pool", "is required by this server")


def _require(request: FetchRequest) -> None:
    require_pool(request.worker_id, request.pool)
    if not request.queues:
        raise InvalidRequest.field("queues", "is required: no pool names queues")


def _tenant(pool: Pool | None, request: FetchRequest) -> str | None:
    """Return the tenant whose jobs may come; the pool's tenant if it has one. Spec: MT 7.3."""
    if pool is None or pool.tenant is None:
        return request.tenant
    if request.tenant not in {None, pool.tenant}:
        raise TenantMismatch(
            f"pool {pool.name} belongs to another tenant than {request.tenant}",
            details={"reason": "tenant_mismatch", "field": "pool", "pool": pool.name},
        )
    return pool.tenant


def _queues(
    claim: ClaimPlan, request: FetchRequest, pool: Pool | None, pools: Pools
) -> tuple[str, ...]:
    wanted = claim.queues
    if pool is not None:
        wanted = tuple(q for q in pool.queues if not request.queues or q in request.queues)
    name = pool.name if pool else request.pool
    return tuple(
        queue
        for queue in wanted
        if not pools.is_closed(queue, name)
        and (request.may_fetch is None or request.may_fetch(queue))
    )


def _of_pool(pool: Pool, queues: Sequence[str], pools: Pools) -> QueueRotation | None:
    prevention = pool.prevention
    is_global = pools.priority_scope is PriorityScope.GLOBAL
    if not _has_choice(queues, pool.strategy, by_order=not (prevention.enabled or is_global)):
        return None
    weights = dict(zip(pool.queues, pool.weights, strict=True))
    return QueueRotation(
        pool.name,
        pool.strategy,
        tuple(float(weights[queue]) for queue in queues),
        prevention.min_ratio if prevention.enabled else None,
        prevention.rotation_ms if prevention.enabled else None,
        is_global,
    )


def _has_choice(queues: Sequence[str], strategy: Strategy, *, by_order: bool) -> bool:
    """Return whether there is anything to rotate; a single queue needs no rotation and no lock.

    The same holds for strict queues with `by_order`: the order of the queues decides.
    """
    if strategy is Strategy.LEAST_LOADED:  # it also looks at the worker
        return True
    return len(queues) > 1 and not (by_order and strategy is Strategy.STRICT)


def _of_request(pools: Pools, request: FetchRequest, queues: Sequence[str]) -> QueueRotation | None:
    """Give a list of queues its own rotation, shared by all requests with the same list."""
    strategy = pools.default_strategy
    weights = parse_weights(request.weights, request.queues)
    if request.strategy is not None:
        strategy = STRATEGIES[request.strategy]
    elif weights:
        strategy = Strategy.WEIGHTED
    is_global = pools.priority_scope is PriorityScope.GLOBAL
    if not _has_choice(queues, strategy, by_order=not is_global):
        return None
    named = [request.queues, int(strategy), weights, request.tenant]
    key = f":{sha256(orjson.dumps(named, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]}"
    return QueueRotation(
        key,
        strategy,
        tuple(float(weights.get(queue, 1)) for queue in queues),
        is_global=is_global,
    )
