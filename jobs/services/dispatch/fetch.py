"""Hand out jobs. Spec: core FETCH, contract 3.4, 9.2, 9.4, 10.1, fair-scheduling 5, 6.

Each function adds one rule and calls the next function:

- `_fetch_of_tenants` goes through the tenants of the queues, and `_fetch` promotes due jobs.
- `_claim` applies `on_limit`, and `_claim_current` plans again if facts are stale.
- `_claim_accepted` requeues jobs that extensions reject.
- `_claim_unblocked` waits for locks, and `_claim_once` makes the call of the claim.

These functions are generators (`Claims`). They yield each call of the claim and get its answer, so
the first claims of several requests can run in one round trip.
"""

from collections.abc import Generator
from dataclasses import replace
from math import inf
from typing import Any

from django.db import InterfaceError, OperationalError

from jobs import caches, extensions, queries
from jobs.conf import conf
from jobs.connection_pool import is_usable
from jobs.domain.dispatch.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.dispatch.rotation_request import NOTHING, rotation_request_of
from jobs.domain.errors import Conflict, PoolConflict
from jobs.extensions import ClaimHooks, checkpoints, implementers
from jobs.gather import Gathering, Later, Outcome
from jobs.services.dispatch.over_limit import apply_on_limit
from jobs.services.lanes import bindings
from jobs.services.lanes.hints import LowWater, LowWaterMarks, starting_marks
from jobs.services.lanes.tenant_queues import split_by_tenant
from jobs.services.outcome.nack import Nack, nack

PROMOTED_AT_FETCH = 200  # due jobs that a FETCH promotes before the loop does
MAX_TRIES = 10  # of a claim: facts of its plan were stale, or locks may have hidden all jobs

Claims = Generator[queries.Claim, queries.Claimed, queries.Claimed]

low_water_marks = LowWaterMarks()
caches.register(low_water_marks.clear)


def fetch(request: FetchRequest) -> queries.Claimed:
    """Claim up to `count` jobs for a worker; `directive` is set if the worker must not fetch.

    The claim is one statement and hands each job to exactly one caller. If jobs have become due and
    the loop has not promoted them, two more statements promote them and claim again. If other
    claims held all jobs, the claim waits for their locks and repeats. Queues that are named with
    their tenants are claimed one tenant after another.

    Raises PoolConflict if the worker names another pool than its own.
    """
    return _finished(_fetch_of_tenants(request))


def fetch_soon(request: FetchRequest) -> Later[queries.Claimed] | queries.Claimed:
    """Begin to claim jobs, as `fetch` does; the first claim may share a round trip with others."""
    claims = _fetch_of_tenants(request)
    try:
        first = next(claims)
    except StopIteration as end:
        answer: queries.Claimed = end.value
        return answer
    if not _may_share(first):
        return _finished(claims, queries.claim(*first))

    def finish(outcome: "Outcome[queries.Claimed | Exception]") -> queries.Claimed:
        claimed = outcome()
        if isinstance(claimed, Exception):
            raise claimed
        return _finished(claims, claimed)

    return Later(_first_claims, first, finish)


def _may_share(call: queries.Claim) -> bool:
    """Return whether a claim waits for no lock that claims hold for long."""
    plan = call.plan
    return plan.pool_cap is None and not plan.rotation and not plan.scopes and is_usable()


# After an error of the connection no claim runs again: it may have handed out its jobs.
_first_claims = Gathering(queries.begin_claims, (OperationalError, InterfaceError))


def _finished(claims: Claims, claimed: queries.Claimed | None = None) -> queries.Claimed:
    """Run claims one after another, and return their result; `claimed` answers the first."""
    try:
        call = next(claims) if claimed is None else claims.send(claimed)
        while True:
            call = claims.send(queries.claim(*call))
    except StopIteration as end:
        answer: queries.Claimed = end.value
        return answer


def _fetch_of_tenants(request: FetchRequest) -> Claims:
    first, *others = split_by_tenant(request)
    claimed = yield from _fetch(first)
    for other in others:
        left = request.count - len(claimed.jobs)
        if left <= 0 or claimed.directive:
            break
        _add(claimed, (yield from _fetch(replace(other, count=left))))
    checkpoints.resume(claimed.jobs)
    return claimed


def _add(claimed: queries.Claimed, more: queries.Claimed) -> None:
    claimed.jobs.extend(more.jobs)
    claimed.directive = more.directive
    opens = [ms for ms in (claimed.opens_ms, more.opens_ms) if ms is not None]
    claimed.opens_ms = min(opens, default=None)


def _fetch(request: FetchRequest) -> Claims:
    claimed = yield from _claim(request, request.count)
    if claimed.is_due and queries.promote(PROMOTED_AT_FETCH):
        _add(claimed, (yield from _claim(request, request.count - len(claimed.jobs))))
    return claimed


def _claim(request: FetchRequest, count: int) -> Claims:
    claimed = yield from _claim_current(request, count)
    if claimed.over_limit:
        apply_on_limit(claimed.over_limit)
    return claimed


def _claim_current(request: FetchRequest, count: int) -> Claims:
    """Plan and claim; repeat if the configuration version or facts of the worker are stale."""
    wanted = _declared(request)
    for _ in range(MAX_TRIES):
        plan = planned(wanted, count)
        if not plan.queues or plan.limit <= 0:
            return queries.Claimed([], [])
        claimed = yield from _claim_accepted(plan, wanted)
        if claimed.is_stale:
            extensions.clear_caches()
        elif claimed.is_foreign:
            wanted = _without_worker(request)
        elif claimed.declared is not None and request.worker_id is not None:
            stored = bindings.find_declared(request.worker_id)
            wanted = _completed(request, stored)
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
            wanted = _declared(request)
    raise Conflict("the configuration keeps changing, try again")


def _claim_accepted(plan: ClaimPlan, request: FetchRequest) -> Claims:
    """Claim, and requeue the jobs that extensions reject; stale if they reject all."""
    claimed = yield from _claim_unblocked(plan, request)
    rejected: set[str] = set()
    for extension in implementers(ClaimHooks.reject_claimed) if claimed.jobs else ():
        rejected.update(extension.reject_claimed(claimed.jobs, request))
    if rejected:
        nack([Nack(job_id, None, requeue=True) for job_id in sorted(rejected)])
        claimed.jobs[:] = [job for job in claimed.jobs if job.id not in rejected]
        claimed.is_stale = not claimed.jobs
    return claimed


def _without_worker(request: FetchRequest) -> FetchRequest:
    """Return the request without its worker id, which belongs to another tenant.

    The answer is the same as if that worker did not exist, and the request is no sign of its life.
    """
    return _declared(replace(request, worker_id=None))


def _declared(request: FetchRequest) -> FetchRequest:
    """Complete a request by the pool and the declaration of its worker that this process has."""
    return _completed(request, bindings.declared(request.worker_id))


def _completed(request: FetchRequest, stored: Declaration) -> FetchRequest:
    """Complete a request by its worker's pool and declaration; its own members take precedence."""
    found = bindings.pool_members(request) | _declared_members(request, stored)
    return replace(request, **found) if found else request


def _declared_members(request: FetchRequest, stored: Declaration) -> dict[str, Any]:
    chooses_rotation = request.strategy is not None or request.weights is not None
    if request.declaration is not None and chooses_rotation:
        return {}
    rotation = NOTHING if chooses_rotation else rotation_request_of(stored)
    weights = rotation.weights and {
        q: rotation.weights[q] for q in request.queues if q in rotation.weights
    }
    return {
        "declaration": stored if request.declaration is None else request.declaration,
        "strategy": request.strategy or rotation.strategy,
        "weights": weights if request.weights is None else request.weights,
        "declared": stored.digest,
    }


def planned(request: FetchRequest, count: int) -> ClaimPlan:
    """Return the plan of a claim after all extensions have changed it."""
    queues = tuple(dict.fromkeys(request.queues))
    plan = ClaimPlan(queues, count, tenant=request.tenant, pool=request.pool)
    for extension in implementers(ClaimHooks.plan_claim):
        plan = extension.plan_claim(plan, request)
    return plan


def _claim_unblocked(plan: ClaimPlan, request: FetchRequest) -> Claims:
    """Claim; repeat while locks of other claims may have hidden all jobs."""
    blocked_on = None
    for _ in range(MAX_TRIES):
        claimed = yield from _claim_once(plan, request, blocked_on)
        blocked_on = claimed.blocked_on
        if claimed.jobs or blocked_on is None:
            break
    return claimed


def _claim_once(plan: ClaimPlan, request: FetchRequest, blocked_on: int | None) -> Claims:
    # A narrowed claim sees other heads than other claims. So claims of a tenant neither use nor set
    # low-water marks, and claims of some version keys share them with claims of the same keys.
    is_whole = plan.tenant is None
    water = low_water_marks.of(plan.version_keys if plan.leaves_out_versions else None)
    bounds = _bounds(plan, water) if is_whole else queries.Hints()
    by = queries.Claimer(
        request.worker_id,
        request.visibility_ms,
        request.pool,
        request.names_pool,
        request.prefetches,
        blocked_on,
        request.declared,
        request.caller_tenant,
        conf().heard_ms,
    )
    claimed = yield queries.Claim(plan, by, conf().default_visibility_ms, bounds)
    if is_whole:
        water.learn(claimed.heads, plan.config_version, starting_marks(plan.queues, bounds))
    return claimed


def _bounds(plan: ClaimPlan, water: LowWater) -> queries.Hints:
    found = water.bounds(plan.queues, plan.config_version)
    if not plan.non_monotonic or found.vts is None:
        return found
    vts = zip(plan.queues, found.vts, strict=True)
    return found._replace(
        vts=[-inf if vt is not None and queue in plan.non_monotonic else vt for queue, vt in vts]
    )
