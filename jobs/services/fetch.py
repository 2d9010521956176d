"""Hand out jobs. Spec: core FETCH, contract 3.4, 9.2, 9.4, 10.1."""

from dataclasses import replace

from jobs import extensions, queries
from jobs.conf import conf
from jobs.domain.claim import ClaimPlan, FetchRequest
from jobs.services.hints import LowWater

PROMOTED_AT_FETCH = 200  # due jobs a FETCH moves by itself when the loops have not yet

low_water = LowWater()


def fetch(request: FetchRequest) -> queries.Claimed:
    """Claim up to `count` jobs for a worker; `directive` is set when it must not fetch.

    One statement, each job to exactly one caller. Jobs that became due within the last loop
    interval are promoted first, which takes two more.
    """
    plan = _plan(request)
    if not plan.queues or plan.limit <= 0:
        return queries.Claimed([], [])
    claimed = _claim(plan, request)
    if claimed.is_due and queries.promote(PROMOTED_AT_FETCH):
        rest = _claim(replace(plan, limit=plan.limit - len(claimed.jobs)), request)
        claimed.jobs.extend(rest.jobs)
    return claimed


def _plan(request: FetchRequest) -> ClaimPlan:
    queues = tuple(dict.fromkeys(request.queues))
    plan = ClaimPlan(queues, None, request.count, tenant=request.tenant)
    for hook in extensions.having("plan"):
        plan = hook(plan, request)
    return plan


def _claim(plan: ClaimPlan, request: FetchRequest) -> queries.Claimed:
    # a narrowed claim sees other heads than its neighbours: no bounds to or from it
    is_whole = plan.tenant is None and plan.routes is None
    bounds = low_water.bounds(plan.queues) if is_whole else queries.Hints()
    default_ms = conf().default_visibility_ms
    claimed = queries.claim(plan, request.worker_id, request.visibility_ms, default_ms, bounds)
    if is_whole:
        low_water.learn(claimed.heads)
    return claimed
