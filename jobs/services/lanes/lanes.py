"""Find, make and cache lanes by key; wake them and set their shares."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from django.db import DatabaseError

from jobs import caches, extensions, queries
from jobs.database import atomic, connection, on_commit
from jobs.domain.dispatch.claim import NAMESPACE_END, LaneKey, Share, SharingPolicy, reduced
from jobs.domain.job import Job
from jobs.domain.lanes.limits import LimitPolicy
from jobs.extensions import LaneHooks
from jobs.models import Lane
from jobs.models import LaneKey as Row
from jobs.services.lanes import limits
from jobs.services.lanes.configuration import Stale, repeat_if_stale

T = TypeVar("T")

LOOKS = 3  # how often to look for lanes that other transactions make
TRIES = 3  # how often a stale cache is refilled before the error is raised
LANE_GONE = "OJS01"  # raised by ojs_wake: a cached lane was deleted

_ids: dict[LaneKey, int] = {}


def resolve(keys: Iterable[LaneKey]) -> dict[LaneKey, int]:
    """Return the lane id of every key; one statement if a key is new to this process."""
    wanted = set(keys)
    found = {key: _ids[key] for key in wanted if key in _ids}
    missing = sorted(wanted - found.keys())
    if missing:
        made = repeat_if_stale(lambda: make(missing), extensions.clear_caches)
        found |= made
        # a lane made in a transaction that rolls back does not exist
        on_commit(lambda: _ids.update(made))
    return found


def cached(key: LaneKey) -> int | None:
    """Return the lane id of a key if this process knows it."""
    return _ids.get(key)


def identities(jobs: Collection[Job]) -> dict[str, LaneKey]:
    """Return the keys of the jobs' present or last lanes, by job id."""
    lane_ids = {job.id: job.lane_id for job in jobs}
    rows = Row.objects.filter(id__in=set(lane_ids.values()))
    keys = {
        row.id: LaneKey(row.queue, row.priority, row.tenant, row.route, tuple(row.limits))
        for row in rows
    }
    return {
        job.id: keys.get(job.lane_id or 0) or LaneKey(job.queue, job.priority, job.tenant)
        for job in jobs
    }


def placed(keys: Iterable[LaneKey], run: Callable[[Mapping[LaneKey, int]], T]) -> T:
    """Run a statement that puts jobs into lanes; repeat it when a cached lane is gone."""
    wanted = set(keys)
    for _ in range(TRIES - 1):
        try:
            with atomic() if connection.in_atomic_block else nullcontext():
                return run(resolve(wanted))
        except DatabaseError as problem:
            if not is_gone(problem):
                raise
            clear_cache()
    return run(resolve(wanted))


def make(keys: Sequence[LaneKey]) -> dict[LaneKey, int]:
    """Find or make lanes, uncached. Raises Stale for weights of an older configuration version.

    In a transaction of the caller, the savepoint around the new lanes stays open until the caller's
    savepoint ends. Another transaction that makes the same lane waits for this subtransaction.
    PostgreSQL would let it wait for the whole transaction after a release of the savepoint. The
    caller may roll back to its own savepoint and then take locks that come before lanes. Both
    transactions would then wait for each other.
    """
    before = connection.savepoint()
    if before is None:  # in no transaction
        with atomic():
            return _make(keys)
    try:
        return _make(keys)
    except Stale:
        connection.savepoint_rollback(before)
        connection.savepoint_commit(before)
        raise


def _make(keys: Sequence[LaneKey]) -> dict[LaneKey, int]:
    # A transaction that changes weights waits for this lock, or its new version is visible.
    queries.lock_lanes(exclusive=False)
    shares, versions = _shares(keys)
    made: dict[LaneKey, int] = {}
    for _ in range(LOOKS):  # a lane that another transaction was making exists now
        missing = [key for key in keys if key not in made]
        more, latest = queries.lanes(missing, shares)
        made |= more
        if not versions <= {latest}:
            raise Stale
        if len(made) == len(set(keys)):
            return made
    raise Stale  # the lane was deleted again: begin anew


def _shares(keys: Collection[LaneKey]) -> tuple[dict[LaneKey, Share], set[int]]:
    """Return the shares that extensions give, and the configuration versions behind them."""
    weights, boosts, versions = _weights(list(keys))
    policies: dict[str, SharingPolicy] = {}
    for extension in extensions.implementers(LaneHooks.sharing_policies):
        version, named = extension.sharing_policies({key.queue for key in keys})
        versions.add(version)
        policies |= named
    namespaced, more = _namespaced({key.tenant for key in keys})
    shares = {
        key: Share(
            weights.get(key, 1.0),
            policies.get(key.queue, SharingPolicy()),
            boosts.get(key, 0),
            key.namespaced() if key.tenant in namespaced else key.queue,
        )
        for key in keys
    }
    return shares, versions | more


def _weights(
    keys: Sequence[LaneKey],
) -> tuple[dict[LaneKey, float], dict[LaneKey, int], set[int]]:
    """Return weights, boosts and the configuration versions behind them.

    The first extension that names a lane decides. A default weight of an extension counts for lanes
    that no extension names.
    """
    weighing = extensions.implementers(LaneHooks.lane_weights)
    found = [extension.lane_weights(keys) for extension in reversed(weighing)]
    versions = {said.version for said in found}
    weights: dict[LaneKey, float] = {}
    boosts: dict[LaneKey, int] = {}
    for said in found:
        weights |= said.otherwise
    for said in found:
        weights |= said.named
        boosts |= said.boosts
    for said in found:
        weights |= {k: reduced(weights.get(k, 1.0), factor) for k, factor in said.factors.items()}
    return weights, boosts, versions


def _namespaced(tenants: Collection[str]) -> tuple[set[str], set[int]]:
    """Return the tenants with a namespace, and the configuration versions behind this set."""
    found = [
        extension.namespaced_tenants(tenants)
        for extension in extensions.implementers(LaneHooks.namespaced_tenants)
    ]
    return {one for _, named in found for one in named}, {version for version, _ in found}


def clear_cache() -> None:
    """Clear the cached ids, after OJS01 or a reset."""
    _ids.clear()


def is_gone(problem: DatabaseError) -> bool:
    """Return whether a statement failed because a cached lane no longer exists."""
    return getattr(problem.__cause__, "sqlstate", None) == LANE_GONE


def defers_waking() -> bool:
    """Return whether lanes are woken after the caller's commit instead of in the statement.

    Waking takes locks until commit, and a host's transaction may be long.
    """
    return connection.in_atomic_block


def wake(lane_ids: Sequence[int]) -> None:
    """Offer lanes to the claim, after the commit that put jobs into them."""
    try:
        queries.wake(lane_ids)
    except DatabaseError as problem:
        if not is_gone(problem):
            raise
        clear_cache()  # the heal loop offers the remaining lanes


def set_weight_and_cap(tenant: str, *, weight: float, cap: int | None) -> int:
    """Give all lanes of a tenant a weight and a cap at once; returns how many lanes there are.

    `cap` bounds the tenant's active jobs over all queues; None removes the bound.
    """
    with atomic():
        queries.lock_lanes(exclusive=True)
        limit = limits.set_of_tenant(tenant, LimitPolicy(concurrency=cap))
        return queries.weigh(tenant, weight, limit)


def set_cap(tenant: str, cap: int | None) -> int:
    """Bound a tenant's active jobs over all queues; returns how many lanes it has.

    A `cap` of None removes the bound. Call it in a transaction.
    """
    queries.lock_lanes(exclusive=True)
    limit = limits.set_of_tenant(tenant, LimitPolicy(concurrency=cap))
    return queries.weigh(tenant, None, limit)


def reweigh(*, in_queues: Sequence[str] | None = None, tenant: str | None = None) -> int:
    """Apply changed shares to all lanes of queues or of a tenant; returns how many changed.

    This includes the queue of a lane: lanes of a tenant that gets or loses a namespace change
    queues, and no job changes. Call it in the transaction that changes the data behind
    `LaneHooks`. These hooks have to see the change.
    """
    queries.lock_lanes(exclusive=True)
    found = Row.objects.all()
    if in_queues is not None:
        found = found.filter(queue__in=in_queues)
    if tenant is not None:
        found = found.filter(tenant=tenant)
    rows = found.values_list("id", "queue", "priority", "tenant", "route")
    keys = {row[0]: LaneKey(*row[1:]) for row in rows}
    shares, _ = _shares(set(keys.values()))
    return queries.reweigh({lane: shares[key] for lane, key in keys.items()})


def unlike(queues: Collection[str] | None = None) -> set[str]:
    """Return queues with a lane whose weight differs from extensions' weights; None: of all queues.

    Lanes of namespaced tenants are left out: they share with no other tenant.
    """
    found = Lane.objects.exclude(queue__contains=NAMESPACE_END)
    if queues is not None:
        found = found.filter(queue__in=queues)
    rows = found.values_list("queue", "priority", "tenant", "route", "weight")
    keys = [
        (LaneKey(queue, priority, tenant, route), weight)
        for queue, priority, tenant, route, weight in rows
    ]
    weights, _, _ = _weights(list({key for key, _ in keys}))
    return {key.queue for key, weight in keys if weights.get(key, 1.0) != weight}


def keep_scopes(scopes: Collection[str]) -> None:
    """Delete the shares counted in all other scopes. Call it in the transaction that ends them.

    It does not wait for claims, since its transaction holds lanes by then.
    """
    queries.keep_scopes(scopes)


def set_paused(lane_ids: Sequence[int], *, paused: bool) -> int:
    """Pause lanes, or offer them again; returns how many lanes change.

    A lane that is offered again continues at the virtual time of the other lanes.
    """
    if paused:
        return Lane.objects.filter(id__in=lane_ids, paused=False).update(paused=True)
    with atomic():
        # one after the other, by id: each catches up with the lanes offered before it
        return sum(queries.offer(lane) for lane in sorted(set(lane_ids)))


caches.register(clear_cache)
