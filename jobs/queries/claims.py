"""Claims, and why a job is not claimed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from jobs.domain.claim import ClaimPlan
from jobs.domain.job import Job
from jobs.queries.base import run, run_hot


class Hints(NamedTuple):
    """Lower bounds for one claim; see `sql/functions/claim/claim.sql`."""

    ranks: list[int | None] | None = None
    vts: list[float | None] | None = None
    lanes: list[int] | None = None
    seqs: list[int] | None = None


@dataclass(slots=True)
class Claimed:
    """The answer of one claim; `heads` has (queue, lane, seq, rank, vt) per job, for the hints."""

    jobs: list[Job]
    heads: list[tuple[str, int, int, int, float]]
    directive: int = 0
    is_due: bool = False
    opens_ms: int | None = None  # until a limit that held jobs back opens by itself
    crowded: list[dict[str, int]] = field(default_factory=list)  # jobs that shall not wait for one
    is_stale: bool = False  # the plan follows from terms that are no longer
    bound: str | None = None  # the pool the worker is in instead; empty: none
    awaits: int | None = None  # the lock that may have hidden jobs; see Claimer.awaits
    declared: int | None = None  # what the worker has declared instead; 0: nothing
    is_taken: bool = False  # the worker is of another tenant than the caller


class Claimer(NamedTuple):
    """Who claims; `pool` is the one it is taken to be in, `binds` whether it said so itself.

    `prefetches`: its concurrency does not bound the claim, it keeps count by itself. `awaits` is
    what its last claim said: the claim waits for that lock first. `declared` is what the worker is
    taken to have declared, null: the request says so itself. `tenant` is the one that the caller is
    bound to. `heard_ms` is how old a sign of the worker's life is when the next one is noted.
    """

    worker_id: str | None = None
    lease_ms: int | None = None
    pool: str | None = None
    binds: bool = False
    prefetches: bool = False
    awaits: int | None = None
    declared: int | None = None
    tenant: str | None = None
    heard_ms: int | None = None


def claim(plan: ClaimPlan, by: Claimer, default_ms: int, hints: Hints) -> Claimed:
    """Hand out jobs, in turn order. Spec: contract 10.1, core FETCH, fair-scheduling 7."""
    turns = plan.turns
    params = {
        "queues": list(plan.queues),
        "limit": plan.limit,
        "worker_id": by.worker_id,
        "lease_ms": by.lease_ms,
        "default_lease_ms": default_ms,
        "tenant": plan.tenant,
        "routes": list(plan.routes) if plan.routes is not None else None,
        "pool": plan.pool,
        "pool_cap": plan.pool_cap,
        "bound": by.pool,
        "binds": by.binds,
        "prefetches": by.prefetches,
        "terms": plan.terms,
        "awaits": by.awaits,
        "turns": turns and turns.key,
        "strategy": turns and int(turns.strategy),
        "weights": turns and turns.weights and list(turns.weights),
        "ratio": turns and turns.ratio,
        "rotation_ms": turns and turns.rotation_ms,
        "is_global": turns and turns.is_global,
        "low_ranks": hints.ranks,
        "low_vts": hints.vts,
        "low_lanes": hints.lanes,
        "low_seqs": hints.seqs,
        "declared": by.declared,
        "refuses": plan.refuses,
        "caller": by.tenant,
        "scopes": [plan.scopes.get(queue) for queue in plan.queues] if plan.scopes else None,
        "heard_ms": by.heard_ms,
    }
    answer = Claimed([], [])
    for row in run_hot("claim", params):
        if row[0] is None:
            answer.directive, answer.is_due = row[28] or 0, bool(row[29])
            answer.opens_ms, answer.crowded = row[30], orjson.loads(row[31] or "[]")
            answer.is_stale, answer.bound, answer.awaits = bool(row[32]), row[33], row[35]
            answer.declared, answer.is_taken = row[36], bool(row[37])
            if row[34]:
                answer.jobs = _in_turn(answer.jobs, [plan.queues[at - 1] for at in row[34]])
        else:
            answer.jobs.append(_claimed_job(row, by.worker_id, plan.pool))
            answer.heads.append((row[2], row[4], row[5], row[26], row[27]))
    return answer


def _in_turn(found: list[Job], order: Sequence[str]) -> list[Job]:
    """Return jobs in the order of the queues that they are of."""
    waiting: dict[str, list[Job]] = {}
    for job in reversed(found):
        waiting.setdefault(job.queue, []).append(job)
    return [waiting[queue].pop() for queue in order]


def _claimed_job(row: Any, worker_id: str | None, pool: str | None) -> Job:
    # positions follow the RETURNS TABLE of functions/claim/claim.sql
    return Job(
        id=str(row[0]), type=row[1], queue=row[2], tenant=row[3], lane_id=row[4], priority=row[6],
        version=row[7], args=row[8], meta=row[9], attributes=row[10], max_attempts=row[11],
        timeout_ms=row[12], created_at=row[13], scheduled_at=row[14], expires_at=row[15],
        activated_at=row[16], attempt=row[17], enqueued_at=row[18], started_at=row[19],
        lease_ms=row[20], lease_until=row[21], error=row[22], errors=row[23],
        retry_delay_ms=row[24], watched=row[25], state=4, worker_id=worker_id, pool=pool,
    )  # fmt: skip


def explain(
    job_id: str, *, most: int, lanes: int, silence_ms: int, minutes: int
) -> dict[str, Any] | None:
    """Read what a claim would find about a job, members as in `sql/functions/explain/explain.sql`.

    Times are parsed. None: there is no such job.
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
