"""Explain why a job waits, or which worker took it, by the conditions of the claim."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from jobs import extensions, queries
from jobs.conf import conf
from jobs.domain.dispatch.explanation import (
    Decision,
    Estimate,
    Explanation,
    Standing,
    Verdict,
    estimate,
    message,
    standing,
    verdict,
)
from jobs.domain.dispatch.gates import Gate, Waiting, gates_of, limit_name
from jobs.domain.job import Job
from jobs.domain.states import WAITING, State, state_of
from jobs.extensions import ReportHooks
from jobs.services.record.rates import MINUTES

MOST = 1000  # jobs that are counted before the job, and read in each lane
LANES = 500  # lanes of a queue that are read


def explain(job: Job, viewer: str | None) -> Explanation:
    """Explain a job as it was read a moment ago; one statement, and the gates of extensions.

    `viewer` is the tenant that the caller is bound to: facts of other tenants are left out.
    """
    facts = queries.explain(
        job.id, most=MOST, lanes=LANES, silence_ms=conf().worker_silence_ms, minutes=MINUTES
    )
    state = state_of(job.state)
    if facts is None or state not in WAITING:
        return _picked(job, state, facts)
    gates = _gates(job, state, facts, viewer)
    is_eligible = state is State.AVAILABLE and not any(
        gate.is_closed for gate in gates if gate.is_enforced
    )
    place = standing(facts.get("position"), is_eligible=is_eligible)
    said = verdict(gates, place, is_eligible=is_eligible)
    guess = estimate(gates, place, facts["now"], round(facts["started"] / MINUTES, 2))
    if viewer is not None:
        place, guess = _narrowed(place, guess)
    return Explanation(
        facts["now"], said, message(said, gates, place), is_eligible, gates, place, guess, None
    )


def _gates(job: Job, state: State, facts: Mapping[str, Any], viewer: str | None) -> list[Gate]:
    waiting = Waiting(
        job.queue, job.tenant, state, job.attempt, job.max_attempts, job.due_at, job.expires_at
    )
    job.route = (facts["lane"] or {}).get("route")
    explaining = extensions.implementers(ReportHooks.explain)
    more = [gate for extension in explaining for gate in extension.explain(job, viewer)]
    return [*gates_of(waiting, facts, viewer), *more]


def _narrowed(place: Standing | None, guess: Estimate) -> tuple[Standing | None, Estimate]:
    """Leave out figures that reveal other tenants' jobs."""
    return place and replace(place, queue=None), replace(guess, jobs_per_minute=None)


def _picked(job: Job, state: State, facts: Mapping[str, Any] | None) -> Explanation:
    said = Verdict.ACTIVE if state is State.ACTIVE else Verdict.ENDED
    decision = _decision(job, facts) if facts is not None else None
    at: datetime = facts["now"] if facts is not None else queries.now()
    words = "It runs." if said is Verdict.ACTIVE else f"It has ended: {state.value}."
    if decision is None and said is Verdict.ENDED:
        words += " No attempt of it has started."
    return Explanation(
        at=at,
        verdict=said,
        message=words,
        is_eligible=False,
        gates=(),
        standing=None,
        estimate=None,
        decision=decision,
    )


def _decision(job: Job, facts: Mapping[str, Any]) -> Decision | None:
    """Join the lease or the job's own row with the record of its last start, if it is kept."""
    start = facts["decision"] or {}
    started_at = job.started_at or start.get("at")
    if started_at is None:
        return None
    waited_ms = start.get("waited_ms")
    if waited_ms is None and job.enqueued_at is not None:
        waited_ms = round((started_at - job.enqueued_at).total_seconds() * 1000)
    lane = facts["lane"] or {}
    return Decision(
        started_at=started_at,
        attempt=job.attempt,
        worker_id=job.worker_id or start.get("worker_id"),
        pool=job.pool,
        queue=job.queue,
        tenant=job.tenant,
        priority=lane.get("priority", job.priority),
        route=lane.get("route"),
        limits=tuple(map(limit_name, facts["limits"])),
        waited_ms=waited_ms,
        lease_until=job.lease_until,
    )
