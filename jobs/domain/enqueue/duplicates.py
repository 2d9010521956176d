"""Decide what happens to jobs with equal fingerprints. Spec: contract 6.3, 11.1."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs.domain.enqueue.unique import REPLACING, OnConflict, UniquePolicy
from jobs.domain.states import CODES, TERMINAL, State

ENDED: Final = frozenset(CODES[state] for state in TERMINAL)
CANCELLED, SCHEDULED, PENDING = (
    CODES[state] for state in (State.CANCELLED, State.SCHEDULED, State.PENDING)
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored job with a fingerprint, or a job that is about to be stored."""

    id: str
    state: int  # code
    created_at: datetime
    # start: (absolute time, or None; milliseconds from PUSH, or None)
    schedule: tuple[datetime | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Asked:
    """One job of a request; `key` None: without a policy. `candidate` describes it once stored."""

    policy: UniquePolicy | None
    key: str | None
    candidate: Candidate


@dataclass(slots=True)
class Verdict:
    """The decision on one job: stored unless `hit`; `schedule` replaces its own when set."""

    hit: Candidate | None = None
    is_refused: bool = False  # otherwise the answer is the hit
    schedule: tuple[datetime | None, int | None] | None = None


@dataclass(slots=True)
class Decision:
    """The decisions on a request; `cancels` are stored jobs and jobs of the request, in order."""

    verdicts: list[Verdict]
    cancels: list[str]


def decide(
    asked: Sequence[Asked], stored: Mapping[str, Iterable[Candidate]], now: datetime
) -> Decision:
    """Check each job in order against stored jobs and earlier jobs. Spec: contract 6.3.

    `stored` has the jobs by fingerprint. A refusal does not end the check: the caller chooses
    whether it concerns the job or the request.
    """
    jobs = {key: list(candidates) for key, candidates in stored.items()}
    decision = Decision([], [])
    for item in asked:
        verdict = Verdict()
        if item.policy is not None and item.key is not None:
            of_key = jobs.setdefault(item.key, [])
            verdict = _verdict(item.policy, of_key, now, decision.cancels)
            if verdict.hit is None:
                of_key.append(_moved(item.candidate, verdict.schedule))
        decision.verdicts.append(verdict)
    return decision


def _verdict(
    policy: UniquePolicy, candidates: list[Candidate], now: datetime, cancels: list[str]
) -> Verdict:
    hits = [job for job in candidates if is_hit(policy, job, now)]
    if not hits:
        return Verdict()
    # at equal times the later job of this request, or the higher id
    newest = max(enumerate(hits), key=lambda pair: (pair[1].created_at, pair[0]))[1]
    if policy.on_conflict not in REPLACING:
        return Verdict(newest, is_refused=policy.on_conflict is OnConflict.REJECT)
    for job in hits:
        if job.state not in ENDED:
            cancels.append(job.id)
            candidates[candidates.index(job)] = Candidate(
                job.id, CANCELLED, job.created_at, job.schedule
            )
    keeps_time = policy.on_conflict is OnConflict.REPLACE_EXCEPT_SCHEDULE
    return Verdict(schedule=newest.schedule if keeps_time and newest.state == SCHEDULED else None)


def is_hit(policy: UniquePolicy, job: Candidate, now: datetime) -> bool:
    """Return whether a job with the same fingerprint counts for a new job with this policy."""
    if not policy.mask >> job.state & 1:
        return False
    if policy.period_ms is None:
        return True
    return job.created_at + timedelta(milliseconds=policy.period_ms) > now


def _moved(job: Candidate, schedule: tuple[datetime | None, int | None] | None) -> Candidate:
    if schedule is None:
        return job
    state = PENDING if job.state == PENDING else SCHEDULED
    return Candidate(job.id, state, job.created_at, schedule)
