"""Claims, and the explanation why a job is not claimed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from jobs.domain.dispatch.claim import ClaimPlan
from jobs.domain.job import Job
from jobs.queries.base import array, begin_pooled, run, run_pooled
from jobs.trips import Trip


class Hints(NamedTuple):
    """Low-water marks for one claim; see `sql/functions/claim/make_request.sql`."""

    ranks: list[int | None] | None = None
    vts: list[float | None] | None = None
    lanes: list[int] | None = None
    seqs: list[int] | None = None


@dataclass(slots=True)
class Claimed:
    """The answer of one claim; `heads` has (queue, lane, seq, rank, vt) of each job for the hints.

    `opens_ms`: in how many ms a limit that held jobs back opens by itself. `over_limit`: lanes over
    a limit whose policy is not to wait. `blocked_on`: see Claimer.blocked_on.
    """

    jobs: list[Job]
    heads: list[tuple[str, int, int, int, float]]
    directive: int = 0
    is_due: bool = False
    opens_ms: int | None = None
    over_limit: list[dict[str, Any]] = field(default_factory=list)
    is_stale: bool = False  # the configuration version of the plan is out of date
    worker_pool: str | None = None  # the worker's pool if the claim named another; empty: none
    blocked_on: int | None = None  # the lock that may have hidden jobs
    declared: int | None = None  # the declaration if the claim named another; 0: none
    is_foreign: bool = False  # the worker belongs to another tenant than the caller


class Claimer(NamedTuple):
    """The worker of a claim, with the facts that this process assumes about it.

    `pool` is its pool; `names_pool` is true if the worker itself named the pool. `prefetches`: its
    concurrency does not bound the claim, because the worker counts its jobs itself. `blocked_on` is
    this member of the previous answer: the claim waits for that lock first. `declared` is the
    worker's declaration; None: the request has its own. `tenant` is the tenant that the caller is
    bound to. `heard_ms` is the age of the last sign of life at which the claim notes a new one.
    """

    worker_id: str | None = None
    lease_ms: int | None = None
    pool: str | None = None
    names_pool: bool = False
    prefetches: bool = False
    blocked_on: int | None = None
    declared: int | None = None
    tenant: str | None = None
    heard_ms: int | None = None


class Claim(NamedTuple):
    """One call of the claim. `default_ms` is the lease if neither worker nor job names one."""

    plan: ClaimPlan
    by: Claimer
    default_ms: int
    hints: Hints


def claim(plan: ClaimPlan, by: Claimer, default_ms: int, hints: Hints) -> Claimed:
    """Hand out jobs, in turn order. Spec: contract 10.1, core FETCH, fair-scheduling 7."""
    call = Claim(plan, by, default_ms, hints)
    return _claimed(call, run_pooled("claim", _params(call)))


def begin_claims(calls: Sequence[Claim]) -> Trip[list[Claimed | Exception]]:
    """Begin several claims in one round trip, each a transaction.

    The trip's result is the answer or the error of each. A claim that waits for a lock delays the
    claims behind it.
    """

    def read(found: list[list[Any] | Exception]) -> list[Claimed | Exception]:
        return [
            rows if isinstance(rows, Exception) else _claimed(call, rows)
            for call, rows in zip(calls, found, strict=True)
        ]

    return begin_pooled("claim", [_params(call) for call in calls]).then(read)


def _params(call: Claim) -> dict[str, Any]:
    plan, by, default_ms, hints = call
    rotation = plan.rotation
    return {
        "queues": array(plan.queues),
        "limit": plan.limit,
        "worker_id": by.worker_id,
        "lease_ms": by.lease_ms,
        "default_lease_ms": default_ms,
        "tenant": plan.tenant,
        "version_keys": array(plan.version_keys),
        "pool": plan.pool,
        "pool_cap": plan.pool_cap,
        "worker_pool": by.pool,
        "names_pool": by.names_pool,
        "prefetches": by.prefetches,
        "configuration": plan.config_version,
        "blocked_on": by.blocked_on,
        "rotation": rotation and rotation.key,
        "strategy": rotation and int(rotation.strategy),
        "weights": rotation and array(rotation.weights or None),
        "ratio": rotation and rotation.ratio,
        "rotation_ms": rotation and rotation.rotation_ms,
        "is_global": rotation and rotation.is_global,
        "low_ranks": array(hints.ranks),
        "low_vts": array(hints.vts),
        "low_lanes": array(hints.lanes),
        "low_seqs": array(hints.seqs),
        "declared": by.declared,
        "leaves_out_versions": plan.leaves_out_versions,
        "caller": by.tenant,
        "scopes": array(map(plan.scopes.get, plan.queues)) if plan.scopes else None,
        "heard_ms": by.heard_ms,
    }


def _claimed(call: Claim, rows: Sequence[Any]) -> Claimed:
    answer = Claimed([], [])
    for *row, signals in rows:
        if signals is None:
            _add_job(answer, row, call.by.worker_id, call.plan.pool)
        else:
            _read_signals(answer, orjson.loads(signals), call.plan.queues)
    return answer


def _read_signals(answer: Claimed, found: dict[str, Any], queues: Sequence[str]) -> None:
    answer.directive = found.get("directive", 0)
    answer.is_stale = found.get("stale", False)
    answer.worker_pool = found.get("pool")
    answer.declared = found.get("declared")
    answer.is_foreign = found.get("foreign", False)
    answer.is_due = found.get("due", False)
    answer.opens_ms = found.get("opens_ms")
    answer.over_limit = found.get("over_limit", [])
    answer.blocked_on = found.get("blocked_on")
    if "turns" in found:
        answer.jobs = _in_rotation_order(answer.jobs, [queues[at - 1] for at in found["turns"]])


def _in_rotation_order(found: list[Job], order: Sequence[str]) -> list[Job]:
    """Return jobs in the order of their queues in `order`."""
    waiting: dict[str, list[Job]] = {}
    for job in reversed(found):
        waiting.setdefault(job.queue, []).append(job)
    return [waiting[queue].pop() for queue in order]


def _add_job(answer: Claimed, row: list[Any], worker_id: str | None, pool: str | None) -> None:
    # in the order of the type ojs_claimed
    (
        job_id, kind, queue, tenant, lane_id, seq, priority, version, args, meta, attributes,
        max_attempts, timeout_ms, created_at, scheduled_at, expires_at, activated_at, attempt,
        enqueued_at, started_at, lease_ms, lease_until, error, errors, retry_delay_ms, watched,
        head_rank, head_vt,
    ) = row  # fmt: skip
    answer.jobs.append(
        Job(
            id=str(job_id), type=kind, queue=queue, tenant=tenant, lane_id=lane_id,
            priority=priority, version=version, args=args, meta=meta, attributes=attributes,
            max_attempts=max_attempts, timeout_ms=timeout_ms, created_at=created_at,
            scheduled_at=scheduled_at, expires_at=expires_at, activated_at=activated_at,
            attempt=attempt, enqueued_at=enqueued_at, started_at=started_at, lease_ms=lease_ms,
            lease_until=lease_until, error=error, errors=errors, retry_delay_ms=retry_delay_ms,
            watched=watched, state=4, worker_id=worker_id, pool=pool,
        )
    )  # fmt: skip
    answer.heads.append((queue, lane_id, seq, head_rank, head_vt))


def explain(
    job_id: str, *, most: int, lanes: int, silence_ms: int, minutes: int
) -> dict[str, Any] | None:
    """Read the findings of a claim about a job, members as in `sql/functions/explain/explain.sql`.

    Times are parsed. None: the job does not exist.
    """
    params = {
        "id": job_id, "most": most, "lanes": lanes, "silence_ms": silence_ms, "minutes": minutes,
    }  # fmt: skip
    text = run("explain", params)[0][0]
    return None if text is None else _timed(orjson.loads(text))


EXPLAINED_TIMES = ("now", "at", "since", "until", "paused_at", "opens_at", "blocked_until")


def _timed(found: dict[str, Any]) -> dict[str, Any]:
    for name, value in found.items():
        if name in EXPLAINED_TIMES and value is not None:
            found[name] = datetime.fromisoformat(value).astimezone(UTC)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and name != "policy":
                _timed(part)
    return found
