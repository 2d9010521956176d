"""Hand out jobs. Spec: core FETCH, contract 3.4, 9.2, 9.4, 10.1, fair-scheduling 5, 6."""

from dataclasses import replace
from math import inf

from jobs import caches, extensions, queries
from jobs.conf import conf
from jobs.domain.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.errors import Conflict, PoolConflict
from jobs.domain.wishes import NOTHING, wish_of
from jobs.services.dispatch.crowd import crowd_out
from jobs.services.lanes import bindings
from jobs.services.lanes.address import addressed
from jobs.services.lanes.hints import LowWater, Waters, above
from jobs.services.outcome.nack import Nack, nack

PROMOTED_AT_FETCH = 200  # due jobs a FETCH moves by itself when the loops have not yet
TRIES = 10  # how often a claim begins anew because what it went by had changed

waters = Waters()
low_water = waters.of(None)
caches.register(waters.clear)


def fetch(request: FetchRequest) -> queries.Claimed:
    """Claim up to `count` jobs for a worker; `directive` is set when it must not fetch.

    One statement, each job to exactly one caller. Jobs that became due within the last loop
    interval are promoted first, which takes two more. Raises PoolConflict for a worker that is in
    another pool than it says.
    A claim that found nothing but what others were at work on is repeated when they are done.
    Queues that are named with their tenants are claimed one tenant after the other.
    """
    first, *others = addressed(request)
    claimed = _fetch(first)
    for other in others:
        left = request.count - len(claimed.jobs)
        if left <= 0 or claimed.directive:
            break
        _add(claimed, _fetch(replace(other, count=left)))
    return claimed


def _add(claimed: queries.Claimed, more: queries.Claimed) -> None:
    claimed.jobs.extend(more.jobs)
    claimed.directive = more.directive
    opens = [ms for ms in (claimed.opens_ms, more.opens_ms) if ms is not None]
    claimed.opens_ms = min(opens, default=None)


def _fetch(request: FetchRequest) -> queries.Claimed:
    claimed = _claim(request, request.count)
    if claimed.over_limit:
        crowd_out(claimed.over_limit)
    if claimed.is_due and queries.promote(PROMOTED_AT_FETCH):
        rest = _claim(request, request.count - len(claimed.jobs))
        claimed.jobs.extend(rest.jobs)
    return claimed


def _claim(request: FetchRequest, count: int) -> queries.Claimed:
    """Plan and claim, anew while the terms or the worker's pool turn out to be others."""
    wanted = bindings.with_pool(_declared(request))
    for _ in range(TRIES):
        plan = planned(wanted, count)
        if not plan.queues or plan.limit <= 0:
            return queries.Claimed([], [])
        claimed = _taken(plan, wanted)
        if claimed.is_stale:
            extensions.clear_caches()
        elif claimed.is_foreign:
            wanted = _nobodys(request)
        elif claimed.declared is not None and request.worker_id is not None:
            wanted = bindings.with_pool(_with(request, bindings.find_declared(request.worker_id)))
        elif claimed.worker_pool is None:
            return claimed
        elif request.pool is not None:
            raise PoolConflict(
                f"worker {request.worker_id} is in pool {claimed.worker_pool},"
                f" not in {request.pool}",
                details={"worker_id": request.worker_id, "pool": claimed.worker_pool},
            )
        else:
            bindings.learn(request.worker_id, claimed.worker_pool)
            wanted = bindings.with_pool(_declared(request))
    raise Conflict("the pools keep changing, try again")


def _taken(plan: ClaimPlan, request: FetchRequest) -> queries.Claimed:
    """Claim, and give back what extensions keep from this worker; stale if that was all."""
    claimed = _try_out(plan, request)
    declined: set[str] = set()
    for hook in extensions.having("declines") if claimed.jobs else ():
        declined.update(hook(claimed.jobs, request))
    if declined:
        nack([Nack(job_id, None, requeue=True) for job_id in sorted(declined)])
        claimed.jobs[:] = [job for job in claimed.jobs if job.id not in declined]
        claimed.is_stale = not claimed.jobs
    return claimed


def _nobodys(request: FetchRequest) -> FetchRequest:
    """Return the request as one that names no worker: its id is that of another tenant's.

    The answer is as if that one were not there, and nothing that it does counts for that one.
    """
    return _declared(replace(request, worker_id=None))


def _declared(request: FetchRequest) -> FetchRequest:
    """Return the request with what its worker declared before, unless it says so itself."""
    return _with(request, bindings.declared(request.worker_id))


def _with(request: FetchRequest, known: Declaration) -> FetchRequest:
    """Complete a request by what its worker declared; what the request says itself stays."""
    says_turns = request.strategy is not None or request.weights is not None
    if request.declaration is not None and says_turns:
        return request
    wish = NOTHING if says_turns else wish_of(known)
    weights = wish.weights and {q: wish.weights[q] for q in request.queues if q in wish.weights}
    return replace(
        request,
        declaration=known if request.declaration is None else request.declaration,
        strategy=request.strategy or wish.strategy,
        weights=weights if request.weights is None else request.weights,
        remembered=known.digest,
    )


def planned(request: FetchRequest, count: int) -> ClaimPlan:
    """Return what the extensions make of a request."""
    queues = tuple(dict.fromkeys(request.queues))
    plan = ClaimPlan(queues, count, tenant=request.tenant, pool=request.pool)
    for hook in extensions.having("plan"):
        plan = hook(plan, request)
    return plan


def _try_out(plan: ClaimPlan, request: FetchRequest) -> queries.Claimed:
    """Claim, anew while locks of others may have hidden jobs: none answer with nothing then."""
    blocked_on = None
    for _ in range(TRIES):
        claimed = _try(plan, request, blocked_on)
        blocked_on = claimed.blocked_on
        if claimed.jobs or blocked_on is None:
            break
    return claimed


def _try(plan: ClaimPlan, request: FetchRequest, blocked_on: int | None) -> queries.Claimed:
    # a narrowed claim sees other heads than its neighbours: no bounds to or from it, but for those
    # of the same routes
    is_whole = plan.tenant is None
    water = waters.of(plan.routes if plan.refuses else None)
    bounds = _bounds(plan, water) if is_whole else queries.Hints()
    by = queries.Claimer(
        request.worker_id,
        request.visibility_ms,
        request.pool,
        request.is_declared,
        request.prefetches,
        blocked_on,
        request.remembered,
        request.bound_to,
        conf().heard_ms,
    )
    claimed = queries.claim(plan, by, conf().default_visibility_ms, bounds)
    if is_whole:
        water.learn(claimed.heads, plan.terms, above(plan.queues, bounds))
    return claimed


def _bounds(plan: ClaimPlan, water: LowWater) -> queries.Hints:
    found = water.bounds(plan.queues, plan.terms)
    if not plan.restless or found.vts is None:
        return found
    vts = zip(plan.queues, found.vts, strict=True)
    return found._replace(
        vts=[-inf if vt is not None and queue in plan.restless else vt for queue, vt in vts]
    )
