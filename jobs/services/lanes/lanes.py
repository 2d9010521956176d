"""Lanes by key: found or made on first use and cached, woken, and set by extensions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from django.db import DatabaseError, connection, transaction

from jobs import extensions, queries
from jobs.domain.claim import NAMESPACE_END, LaneKey, Share, Way, reduced
from jobs.domain.job import Job
from jobs.domain.limits import LimitPolicy
from jobs.models import Lane
from jobs.models import LaneKey as Row
from jobs.services.lanes import limits
from jobs.services.lanes.terms import Stale, by_latest

T = TypeVar("T")

LOOKS = 3  # how often lanes that others are making are looked for
TRIES = 3  # how often a stale cache is refilled before the problem is passed on
LANE_GONE = "OJS01"  # raised by ojs_wake: the cache is older than the table

_known: dict[LaneKey, int] = {}


def resolve(keys: Iterable[LaneKey]) -> dict[LaneKey, int]:
    """Return the lane id of every key; one statement when some key is new to this process."""
    wanted = set(keys)
    found = {key: _known[key] for key in wanted if key in _known}
    missing = sorted(wanted - found.keys())
    if missing:
        made = by_latest(lambda: make(missing), extensions.forget)
        found |= made
        # a lane made in a transaction that rolls back was never there
        transaction.on_commit(lambda: _known.update(made))
    return found


def identities(jobs: Collection[Job]) -> dict[str, LaneKey]:
    """Return the keys of the lanes that jobs are or were in, by job id."""
    known = {job.id: job.lane_id for job in jobs}
    rows = Row.objects.filter(id__in=set(known.values()))
    keys = {
        row.id: LaneKey(row.queue, row.priority, row.tenant, row.route, tuple(row.limits))
        for row in rows
    }
    return {
        job.id: keys.get(job.lane_id or 0) or LaneKey(job.queue, job.priority, job.tenant)
        for job in jobs
    }


def placed(keys: Iterable[LaneKey], run: Callable[[Mapping[LaneKey, int]], T]) -> T:
    """Run a statement that puts jobs into lanes, anew when a cached lane is gone."""
    wanted = set(keys)
    for _ in range(TRIES - 1):
        try:
            with transaction.atomic() if connection.in_atomic_block else nullcontext():
                return run(resolve(wanted))
        except DatabaseError as problem:
            if not is_gone(problem):
                raise
            forget()
    return run(resolve(wanted))


def make(keys: Sequence[LaneKey]) -> dict[LaneKey, int]:
    """Find or make lanes, uncached. Raises Stale: their weights follow from older terms.

    In a transaction of the caller the savepoint around the new lanes is left open, until the
    caller's own ends. Whoever makes the same lane waits for its subtransaction. Released, that is
    part of the whole transaction, and they go on waiting for its end even where the caller rolls
    back to an earlier savepoint and then takes locks that come before lanes: a deadlock.
    """
    before = connection.savepoint()
    if before is None:  # in no transaction
        with transaction.atomic():
            return _make(keys)
    try:
        return _make(keys)
    except Stale:
        connection.savepoint_rollback(before)
        connection.savepoint_commit(before)
        raise


def _make(keys: Sequence[LaneKey]) -> dict[LaneKey, int]:
    # whoever changes weights waits for us, or we see the version that it raised
    queries.lock_lanes(exclusive=False)
    shares, versions = _shares(keys)
    made: dict[LaneKey, int] = {}
    for _ in range(LOOKS):  # one that another transaction was just making is there by now
        missing = [key for key in keys if key not in made]
        more, latest = queries.lanes(missing, shares)
        made |= more
        if not versions <= {latest}:
            raise Stale
        if len(made) == len(set(keys)):
            return made
    raise Stale  # it was taken away again: begin anew


def _shares(keys: Collection[LaneKey]) -> tuple[dict[LaneKey, Share], set[int]]:
    """Return the shares that extensions give, and the versions of the terms behind them."""
    weights, boosts, versions = _weights(list(keys))
    ways: dict[str, Way] = {}
    for hook in extensions.having("ways"):
        version, named = hook({key.queue for key in keys})
        versions.add(version)
        ways |= named
    apart, more = _apart({key.tenant for key in keys})
    shares = {
        key: Share(
            weights.get(key, 1.0),
            ways.get(key.queue, Way()),
            boosts.get(key, 0),
            key.namespaced() if key.tenant in apart else key.queue,
        )
        for key in keys
    }
    return shares, versions | more


def _weights(
    keys: Sequence[LaneKey],
) -> tuple[dict[LaneKey, float], dict[LaneKey, int], set[int]]:
    """Return weights, boosts and the versions behind them.

    The first that names one decides; what one says of all others counts where none does.
    """
    found = [hook(keys) for hook in reversed(extensions.having("weigh"))]
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


def _apart(tenants: Collection[str]) -> tuple[set[str], set[int]]:
    """Return the tenants that extensions keep apart, and the versions of the terms behind that."""
    found = [hook(tenants) for hook in extensions.having("apart")]
    return {one for _, named in found for one in named}, {version for version, _ in found}


def forget() -> None:
    """Drop the cache, after OJS01 or a reset."""
    _known.clear()


def is_gone(problem: DatabaseError) -> bool:
    """Tell whether a statement failed because a cached lane no longer exists."""
    return getattr(problem.__cause__, "sqlstate", None) == LANE_GONE


def defers_waking() -> bool:
    """Tell whether lanes are woken after the caller's commit instead of in the statement.

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
        forget()  # the heal loop offers what is left of them


def set_terms(tenant: str, *, weight: float, cap: int | None) -> int:
    """Give all lanes of a tenant a weight and a cap at once; returns how many there are.

    `cap` bounds its active jobs over all queues, null: not.
    """
    with transaction.atomic():
        queries.lock_lanes(exclusive=True)
        limit = limits.set_of_tenant(tenant, LimitPolicy(concurrency=cap))
        return queries.weigh(tenant, weight, limit)


def set_cap(tenant: str, cap: int | None) -> int:
    """Bound the active jobs of a tenant over all queues, null: not; returns how many lanes it has.

    Call it in a transaction.
    """
    queries.lock_lanes(exclusive=True)
    limit = limits.set_of_tenant(tenant, LimitPolicy(concurrency=cap))
    return queries.weigh(tenant, None, limit)


def reweigh(*, in_queues: Sequence[str] | None = None, tenant: str | None = None) -> int:
    """Let all lanes of queues or of a tenant share anew; returns how many changed.

    That includes who finds them: the lanes of a tenant that is kept apart from now on, or no
    longer, change queues, and no job is touched. Call it in the transaction that changes what
    `Extension.weigh`, `ways` and `apart` go by, which have to know that.
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
    """Return queues with a lane that weighs other than extensions say; None: of all queues.

    Lanes of tenants that are kept apart share with nobody, and are not looked at.
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
    """Forget what tenants got of all other scopes. Call it in the transaction that ends them.

    It waits for no claim, since it holds lanes by then.
    """
    queries.keep_scopes(scopes)


def set_paused(lane_ids: Sequence[int], *, paused: bool) -> int:
    """Hold lanes back, or offer them again; returns how many that changes.

    One that is offered again joins the others as an equal, whatever they got meanwhile.
    """
    if paused:
        return Lane.objects.filter(id__in=lane_ids, paused=False).update(paused=True)
    with transaction.atomic():
        # one after the other, by id: each joins those that were offered before it
        return sum(queries.offer(lane) for lane in sorted(set(lane_ids)))
