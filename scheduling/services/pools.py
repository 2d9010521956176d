"""Store, change, list and delete pools. Spec: contract 20.2, 20.3."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import Now

from jobs import extensions
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import Strategy
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.record.events import Kind
from jobs.extensions import Document
from jobs.models import Lease, Worker
from jobs.services.audit.config_log import Subject, configured
from jobs.services.lanes import configuration
from jobs.services.lanes.lanes import keep_scopes, reweigh
from jobs.services.record.emit import NewEvent, emit
from scheduling.domain.errors import PoolInUse, PoolStatic
from scheduling.domain.pool import DEFAULT, Pool, Scope
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Overload, PoolQueue, PoolRow
from scheduling.services import pool_cache
from scheduling.services.documents import POOL
from scheduling.services.pool_cache import Pools

Policy = tuple[Strategy, Mapping[str, int]]  # strategy of the queue rotation, and weights by queue


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool with its live workers and active jobs."""

    pool: Pool
    active_workers: int
    active_jobs: int
    is_static: bool
    scope: str | None  # scope of shares in its queues; None: each queue


def page(*, limit: int, offset: int) -> tuple[list[PoolState], int]:
    """List pools by name; returns a page and the total."""
    pools = pool_cache.read()
    found = list(pools.by_name.values())
    return _states(found[offset : offset + limit], pools), len(found)


def find(name: str) -> PoolState:
    """Return one pool. Raises NotFound."""
    pools = pool_cache.read()
    if name not in pools.by_name:
        raise NotFound.of("pool", name)
    return _states([pools.by_name[name]], pools)[0]


def exists(name: str) -> bool:
    """Return whether a pool of this name exists."""
    return name in pool_cache.read().by_name


def _states(found: Sequence[Pool], pools: Pools) -> list[PoolState]:
    names = [pool.name for pool in found]
    alive = Worker.objects.filter(stopped_at=None, dead_at=None)
    workers = _by_pool(alive.filter(pool__in=names).values_list("pool").annotate(Count("id")))
    jobs = _by_pool(Lease.objects.filter(pool__in=names).values_list("pool").annotate(Count("id")))
    if DEFAULT in names:
        workers[DEFAULT] = workers.get(DEFAULT, 0) + alive.filter(pool=None).count()
    return [
        PoolState(
            pool,
            workers.get(pool.name, 0),
            jobs.get(pool.name, 0),
            pool.name in pools.static,
            pools.scope_of(pool),
        )
        for pool in found
    ]


def _by_pool(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(rows)


def put(pool: Pool, caller: Caller = SYSTEM) -> tuple[PoolState, bool]:
    """Store a pool, or replace the pool of its name; returns it and whether it is new.

    Effective from the commit on, in every process; running claims still follow the old pool. Raises
    Conflict if another pool shares the tenants of one of its queues differently, PoolStatic.
    Locks: the configuration version, then lanes.
    """
    extensions.clear_caches()  # the shares also depend on the tenants' own weights
    with configured(caller, Subject(POOL, pool.name), "pool.changed") as data:
        configuration.change()
        before = pool_cache.read()
        _refuse(pool, before)
        stored = before.by_name.get(pool.name)
        data["strategy"], data["queues"] = pool.strategy.name.lower(), list(pool.queues)
        data["tenant"] = pool.tenant
        _store(pool)
        if stored is not None:
            _emit_rebalanced(stored, pool)
        _share(before, [*(stored.queues if stored else ()), *pool.queues])
    pool_cache.cache.clear()
    return find(pool.name), stored is None


def check(pool: Pool) -> None:
    """Refuse a pool that `put` refuses. Raises Conflict and PoolStatic."""
    _refuse(pool, pool_cache.read())


def _refuse(pool: Pool, pools: Pools) -> None:
    _refuse_static(pool.name, pools)
    refuse_contradiction(pool, pools)


def _refuse_static(name: str, pools: Pools) -> None:
    if name in pools.static:
        raise PoolStatic(f"pool {name} is defined by the server's settings", details={"pool": name})


def refuse_contradiction(pool: Pool, pools: Pools) -> None:
    """Refuse different shares of one queue: its lanes have one weight, order and scope."""
    for other in pools.by_name.values():
        both = set(pool.queues) & set(other.queues)
        if not both or other.name == pool.name or pool.tenants is None or other.tenants is None:
            continue
        where = {"field": "tenant_fairness", "pool": other.name, "queue": min(both)}
        if pool.tenants != other.tenants:
            problem = f"pool {other.name} lets the tenants of queue {min(both)} share differently"
            raise Conflict(problem, details=where)
        if pool.tenants.enabled and pool.tenants.scope is Scope.POOL:
            problem = f"pool {other.name} shares queue {min(both)} over all its queues already"
            raise Conflict(problem, details=where | {"field": "tenant_fairness.scope"})


def _emit_rebalanced(before: Pool, after: Pool) -> None:
    """Emit an event if the queue rotation of a pool changed. Spec: fair-scheduling 11.1."""
    if (before.strategy, before.queues, before.weights) != (
        after.strategy,
        after.queues,
        after.weights,
    ):
        emit_rebalanced(
            after.name,
            (before.strategy, before.weight_by_queue),
            (after.strategy, after.weight_by_queue),
        )


def emit_rebalanced(pool: str, before: Policy, after: Policy) -> None:
    """Emit the event of a changed queue rotation. Spec: fair-scheduling 11.1."""
    data = {
        "pool": pool,
        "previous_strategy": before[0].wire,
        "new_strategy": after[0].wire,
        "previous_weights": before[1],
        "new_weights": after[1],
    }
    emit([NewEvent(Kind.REBALANCED, data=data)])


def _store(pool: Pool) -> None:
    row, _ = PoolRow.objects.update_or_create(
        name=pool.name,
        defaults={
            "strategy": pool.strategy,
            "concurrency": pool.concurrency,
            "isolated": pool.isolated,
            "prevention": pool.prevention.to_row(),
            "tenants": None if pool.tenants is None else pool.tenants.to_row(),
            "tenant": pool.tenant,
            "updated_at": Now(),
        },
    )
    row.queues.all().delete()
    PoolQueue.objects.bulk_create(
        PoolQueue(pool=row, position=n, queue=queue, weight=weight)
        for n, (queue, weight) in enumerate(zip(pool.queues, pool.weights, strict=True))
    )


def delete(name: str, caller: Caller = SYSTEM, *, force: bool = False) -> None:
    """Delete a pool; its workers are then governed by no pool, and its queues are open to all.

    Raises NotFound, PoolStatic; PoolInUse while workers of it live, unless `force`.
    """
    extensions.clear_caches()
    with configured(caller, Subject(POOL, name), "pool.deleted"):
        configuration.change()
        before = pool_cache.read()
        _refuse_static(name, before)
        stored = before.by_name.get(name)
        if stored is None:
            raise NotFound.of("pool", name)
        bound = Q(pool=name, stopped_at=None, dead_at=None)
        workers = 0 if force else Worker.objects.filter(bound).count()
        if workers:
            raise PoolInUse(
                f"pool {name} has {workers} live worker{'' if workers == 1 else 's'}",
                details={"pool": name, "active_workers": workers},
            )
        PoolRow.objects.filter(name=name).delete()
        Overload.objects.filter(pool=name).delete()
        _share(before, stored.queues)
    pool_cache.cache.clear()


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a pool; None: delete it. Raises as `put` and `delete`."""
    if document is None:
        delete(name, caller)
    else:
        put(parse_pool(name, document), caller)


def _share(before: Pools, queues: Iterable[str]) -> None:
    """Give the lanes of queues their new weights and sharing policy, if these changed."""
    after = pool_cache.read()
    share(
        after,
        [
            one
            for one in queues
            if after.tenants_of(one) != before.tenants_of(one)
            or after.sharing_policy_of(one) != before.sharing_policy_of(one)
        ],
    )


def share(pools: Pools, queues: Sequence[str]) -> None:
    """Give the lanes of queues the weights of these pools, in the caller's transaction."""
    if queues:
        with pool_cache.standing(pools):
            reweigh(in_queues=queues)
        keep_scopes(pools.scopes())
