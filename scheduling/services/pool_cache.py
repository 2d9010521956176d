"""Cache the pools of this process and notice their changes.

The pools are read as a whole with the configuration version (`jobs.services.lanes.configuration`).
Each claim names the version that its plan follows from, and hands out nothing if that is not the
latest. So a changed pool takes effect from its commit on, in every process, without an additional
statement.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from jobs.caches import VersionedCache
from jobs.domain.dispatch.claim import STRATEGIES, PriorityScope, SharingPolicy, Strategy
from jobs.services.lanes import configuration
from scheduling.conf import conf
from scheduling.domain.pool import DEFAULT, Pool, Prevention, TenantWeights
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Configuration, PoolRow

EQUAL = TenantWeights()


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools by name, as of one configuration version."""

    version: int
    by_name: Mapping[str, Pool]
    static: frozenset[str]  # of the settings
    default_strategy: Strategy
    priority_scope: PriorityScope
    tenants: TenantWeights | None  # for queues of which no pool sets it
    closed: Mapping[str, set[str]]  # by queue: the isolated pools that have it to themselves
    shares: Mapping[str, TenantWeights]  # by queue, if a pool sets it
    homes: Mapping[str, str]  # by queue: the pool that counts it, if tenants share over pools

    def governing(self, name: str | None) -> Pool | None:
        """Return the pool that governs a worker that names pool `name`."""
        return self.by_name.get(DEFAULT if name is None else name)

    def is_closed(self, queue: str, pool: str | None) -> bool:
        """Return whether a queue belongs to isolated pools other than `pool`."""
        owners = self.closed.get(queue)
        return owners is not None and pool not in owners

    def tenants_of(self, queue: str) -> TenantWeights:
        """Return how tenants share a queue."""
        return self.shares.get(queue) or self.tenants or EQUAL

    def sharing_policy_of(self, queue: str) -> SharingPolicy:
        """Return the sharing policy for the lanes of a queue."""
        return self.tenants_of(queue).sharing_policy(self.homes.get(queue))

    def scope_of(self, pool: Pool | None) -> str | None:
        """Return the scope of shares in the queues of a pool, or of no pool; None: each queue."""
        tenants = (pool and pool.tenants) or self.tenants or EQUAL
        return tenants.sharing_policy(pool.name if pool else None).scope

    def scopes(self) -> set[str]:
        """Return all scopes of shares beyond a single queue."""
        found = map(self.scope_of, (*self.by_name.values(), None))
        return {scope for scope in found if scope is not None}


_standing: ContextVar[Pools | None] = ContextVar("ojs_standing_pools", default=None)


def current() -> Pools:
    """Return the cached pools, or the pools that `standing` has set in their place."""
    return _standing.get() or cache.latest or cache.current()


def latest() -> Pools:
    """Return the latest pools, for callers whose version no claim would check."""
    version = configuration.version()
    return _standing.get() or cache.obtain(lambda found: found.version == version)


@contextmanager
def standing(pools: Pools) -> Iterator[None]:
    """Use other pools in this context: of a scratch store, or not committed yet."""
    token = _standing.set(pools)
    try:
        yield
    finally:
        _standing.reset(token)


def changed(
    pools: Pools,
    by_name: Mapping[str, Pool],
    strategy: Strategy | None,
    scope: PriorityScope | None,
    tenants: TenantWeights | None,
) -> Pools:
    """Return the configuration with these pools, and with these defaults if given."""
    return replace(
        pools,
        by_name=dict(sorted(by_name.items())),
        default_strategy=pools.default_strategy if strategy is None else strategy,
        priority_scope=scope or pools.priority_scope,
        tenants=tenants or pools.tenants,
        closed=_closed(by_name.values()),
        shares=_shares(by_name.values()),
        homes=_homes(by_name.values()),
    )


def read() -> Pools:
    """Read all pools.

    The version comes first: a change in between can make the result look too old, never too new.
    """
    version = configuration.version()
    static = {pool.name: pool for pool in static_pools()}
    rows = PoolRow.objects.prefetch_related("queues")
    stored = {row.name: to_pool(row) for row in rows if row.name not in static}
    by_name = dict(sorted({**stored, **static}.items()))
    configured = Configuration.objects.first() or Configuration()
    chosen = configured.default_strategy
    if chosen is None:
        chosen = STRATEGIES[conf().default_strategy]
    tenants = configured.tenants
    return Pools(
        version,
        by_name,
        frozenset(static),
        Strategy(chosen),
        PriorityScope(configured.priority_scope or conf().priority_scope),
        None if tenants is None else TenantWeights.from_row(tenants),
        _closed(by_name.values()),
        _shares(by_name.values()),
        _homes(by_name.values()),
    )


def static_pools() -> list[Pool]:
    """Return the pools of the settings. Raises Unprocessable, which a system check reports."""
    return [parse_pool(str(raw.get("name", "")), raw) for raw in conf().pools]


def to_pool(row: PoolRow) -> Pool:
    """Return a stored pool."""
    listed = sorted(row.queues.all(), key=lambda queue: queue.position)
    return Pool(
        name=row.name,
        queues=tuple(queue.queue for queue in listed),
        weights=tuple(queue.weight for queue in listed),
        strategy=Strategy(row.strategy),
        concurrency=row.concurrency,
        isolated=row.isolated,
        prevention=Prevention.from_row(row.prevention),
        tenants=None if row.tenants is None else TenantWeights.from_row(row.tenants),
        tenant=row.tenant,
    )


def _shares(pools: Iterable[Pool]) -> dict[str, TenantWeights]:
    found: dict[str, TenantWeights] = {}
    for pool in pools:
        if pool.tenants is not None:
            for queue in pool.queues:
                found.setdefault(queue, pool.tenants)
    return found


def _homes(pools: Iterable[Pool]) -> dict[str, str]:
    """Return the pool of each queue: the pool that sets its shares, else the first by name."""
    found: dict[str, str] = {}
    for pool in sorted(pools, key=lambda one: (one.tenants is None, one.name)):
        for queue in pool.queues:
            found.setdefault(queue, pool.name)
    return found


def _closed(pools: Iterable[Pool]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pool in pools:
        for queue in pool.queues if pool.isolated else ():
            found.setdefault(queue, set()).add(pool.name)
    return found


cache = VersionedCache(lambda _: read(), setting="OJS_SCHEDULING")
