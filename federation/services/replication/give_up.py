"""Give up a job that another region stored after our response was lost. ADR 19.

The asking region stored it, and named this region as in doubt. A waiting job here is cancelled. If
there is none, the federation id is stored for the other region's job: a late request stores
nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from federation import queries
from federation.domain.doubts import Claim, Outcome, judge
from federation.domain.errors import UnknownRegion
from federation.queries import Key
from federation.services.registry.regions import registry
from federation.services.replication.conflicts import conflict
from federation.services.replication.standing import ACTOR, delete_doubts, standing
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, TenantMismatch
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.services.outcome.cancel import end
from jobs.services.read.show import show_many
from jobs.services.record.emit import emit

# keys of any age count: the outcome of a job matters as long as the job exists
WINDOW_MS: Final = 100 * 365 * 86_400_000


class Answer(NamedTuple):
    """The outcome of the job here."""

    federation_id: str
    outcome: Outcome
    job_id: str | None  # ours; None: there is none


def give_up(region: str, claims: Sequence[Claim], caller: Caller) -> list[Answer]:
    """Answer the claims of a region in their order. Harmless when it is repeated.

    Locks: the keys, in their order, so that concurrent enqueues end first; then the jobs that are
    cancelled. Raises NotFederated, UnknownRegion, InvalidRequest, TenantMismatch.
    """
    local = registry().configured.local_region
    _require(region, claims, caller, local)
    with atomic():
        keys = [Key(one.tenant, one.federation_id, one.job_id) for one in claims]
        noted = queries.reserve(keys, WINDOW_MS)
        ours = [noted[one.tenant, one.federation_id].job_id for one in claims]
        jobs = {job.id: job for job in show_many(sorted(set(ours)))}
        answers = [
            _judged(claim, job_id, jobs.get(job_id), (local, region))
            for claim, job_id in zip(claims, ours, strict=True)
        ]
        return _ended(region, claims, answers, jobs)


def _require(region: str, claims: Sequence[Claim], caller: Caller, local: str) -> None:
    if region == local:
        raise InvalidRequest.field("region", "is this region", region)
    if region not in registry().regions:
        raise UnknownRegion.named(region)
    for index, one in enumerate(claims):
        if caller.tenant not in {None, one.tenant}:
            raise TenantMismatch(
                "the credentials are bound to another tenant",
                details={
                    "reason": "tenant_mismatch", "field": f"jobs[{index}].tenant_id",
                    "index": index,
                },
            )  # fmt: skip


def _judged(claim: Claim, job_id: str, job: Job | None, between: tuple[str, str]) -> Answer:
    if job_id == claim.job_id:
        return Answer(claim.federation_id, Outcome.ABSENT, None)
    if job is None or job.tenant != claim.tenant:
        return Answer(claim.federation_id, Outcome.GONE, None)
    local, asker = between
    return Answer(claim.federation_id, judge(standing(job, local), claim, asker), job_id)


def _ended(
    region: str, claims: Sequence[Claim], answers: Sequence[Answer], jobs: Mapping[str, Job]
) -> list[Answer]:
    """Cancel the jobs that are given up, emit events, and correct answers about started jobs."""
    events = []
    wanted = {
        one.job_id: claim
        for one, claim in zip(answers, claims, strict=True)
        if one.job_id is not None
        and one.outcome is Outcome.CANCELLED
        and state_of(jobs[one.job_id].state) is not State.CANCELLED
    }
    reason = f"stored in {region}, too"
    ended = {row.id for row in end(sorted(wanted), ACTOR, reason, active=False)} if wanted else ()
    for job_id in ended:
        claim = wanted[job_id]
        delete_doubts(claim.tenant, [claim.federation_id])
        events.append(
            conflict(jobs[job_id], claim.federation_id, region, claim.job_id, "cancelled")
        )
    emit(events)
    return [
        one._replace(outcome=Outcome.RAN)
        if one.job_id in wanted and one.job_id not in ended
        else one
        for one in answers
    ]
