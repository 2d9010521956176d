"""Explain how pools affect a waiting job, with the same data as `plan` and the claim.

This module decides nothing. `plan` decides which pools may take the job and how their queues
rotate. `ojs_outlook` reads their load with the claim's own functions. Spec: contract 20.5.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest
from jobs.domain.dispatch.gates import Gate
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.lanes.rotations import Ahead
from jobs.domain.states import State, state_of
from jobs.services.lanes.rotations import Outlook, outlook
from scheduling.domain.pool_gates import WorkerGroup, pool_gates, rotation_gate
from scheduling.services import pool_cache
from scheduling.services.plan import plan

OUTSIDE = ""  # a pool name that no pool has; no pool governs workers that name it
MOST_EXPLAINED = 10  # pools whose rotation is explained
SLOTS = 200  # turns of the rotation to look ahead
TRIES = 3


@dataclass(frozen=True, slots=True)
class EligiblePools:
    """The pools that may take jobs of a queue, and whether workers outside of pools may."""

    queue: str
    tenant: str
    caps: dict[str, int | None]  # by pool
    is_open_outside: bool
    owners: tuple[str, ...]  # isolated pools that have it to themselves; empty: none has


def explain(job: Job, viewer: str | None) -> list[Gate]:
    """Return the gates of pools; one statement, and more if pools have just changed."""
    is_available = state_of(job.state) is State.AVAILABLE
    for _ in range(TRIES):
        version = pool_cache.current().version
        eligible = eligible_pools(job.queue, job.tenant)
        wholes = (
            [whole_of(name) for name in list(eligible.caps)[:MOST_EXPLAINED]]
            if is_available
            else []
        )
        takers = [whole for whole in wholes if whole and len(whole.queues) > 1]
        found = outlook(list(eligible.caps), takers, job.queue, slots=SLOTS)
        if found.config_version == version:
            break
        pool_cache.cache.clear()  # as a claim does if its plan follows from an old version
    if not pool_cache.current().by_name:
        return []
    return [
        *_pools(eligible, found, viewer),
        *_rotations(job.queue, takers, found.rotations, viewer),
    ]


def eligible_pools(queue: str, tenant: str) -> EligiblePools:
    """Ask `plan` which pools may take jobs of a tenant in a queue."""
    pools = pool_cache.current()
    plans = {name: _planned(queue, tenant, name) for name in pools.by_name}
    return EligiblePools(
        queue,
        tenant,
        {name: one.pool_cap for name, one in plans.items() if one and one.queues},
        bool((outside := _planned(queue, tenant, OUTSIDE)) and outside.queues),
        tuple(sorted(pools.closed.get(queue, ()))),
    )


def _planned(queue: str, tenant: str, pool: str | None) -> ClaimPlan | None:
    """Plan a claim of one queue by a worker that names a pool.

    None: the worker is refused, or gets only jobs of another tenant.
    """
    try:
        found = plan(ClaimPlan((queue,), 1, pool=pool), FetchRequest((queue,), pool=pool))
    except OJSError:
        return None
    return found if found.tenant in {None, tenant} else None


def whole_of(pool: str) -> ClaimPlan | None:
    """Plan a claim of all queues of a pool; None if `plan` found the pool deleted."""
    try:
        return plan(ClaimPlan((), 1, pool=pool), FetchRequest((), pool=pool))
    except OJSError:
        return None


def _pools(eligible: EligiblePools, found: Outlook, viewer: str | None) -> list[Gate]:
    asking: Counter[str | None] = Counter()
    for crew in found.crews:
        taken = _planned(eligible.queue, eligible.tenant, crew.pool)
        if taken is not None and taken.queues:
            asking[taken.pool if taken.pool in eligible.caps else None] += crew.asking
    groups = [
        WorkerGroup(name, cap, found.active[name], asking[name])
        for name, cap in sorted(eligible.caps.items())
    ]
    if eligible.is_open_outside:
        groups.append(WorkerGroup(None, None, 0, asking[None]))
    return pool_gates(eligible.queue, groups, eligible.owners, shows=viewer is None)


def _rotations(
    queue: str, plans: Sequence[ClaimPlan], found: Sequence[Ahead], viewer: str | None
) -> Iterator[Gate]:
    pools = pool_cache.current()
    for taker, ahead in zip(plans, found, strict=True):
        yield rotation_gate(queue, pools.by_name[str(taker.pool)], ahead, shows=viewer is None)
