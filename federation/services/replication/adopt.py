"""Enqueue the waiting jobs of a lost region here. Spec: federation 5.1, 7.2; contract 23.6.

Only jobs with a copy here can be adopted, and only jobs that may run elsewhere: a pinned job never
leaves its region. Each adopted job is a new job with the same federation id. The id is reserved as
for a repeat. So a second adoption makes no second job, nor does a job that is here already.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from federation import queries
from federation.domain.breaker import State as BreakerState
from federation.domain.errors import UnknownRegion
from federation.domain.health import Health, Status
from federation.domain.meta import ADOPTED_FROM, ADOPTED_JOB, FAILOVER_REASON, REGION
from federation.queries import Waiting
from federation.services.registry.regions import registry
from federation.services.replication.dedupe import insisting
from federation.services.replication.replication import required
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.envelope import parse_job
from jobs.domain.errors import Conflict, InvalidRequest, OJSError
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.extensions import checkpoints
from jobs.services.audit.audit import audited
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.lanes.envelopes import stored_limits

SLICE: Final = 200
MOST: Final = 10_000  # jobs of one call
LISTED: Final = 100  # refusals in the report
NOBODY: Final = "00000000-0000-0000-0000-000000000000"
PINNED, FOLLOWED, BARE, LOST = "pinned", "followed", "without_payload", "superseded"
WHY_NOT: Final = (PINNED, FOLLOWED, BARE, LOST)
BY_BOUND: Final = {"region": PINNED, "extension": FOLLOWED}


@dataclass(frozen=True, slots=True)
class Order:
    """The order of an adoption."""

    region: str
    queue: str | None = None  # None: all queues
    limit: int = 1_000  # jobs to read
    after: str | None = None  # continue after this job
    dry_run: bool = False
    force: bool = False  # even if the region may be up
    reason: str | None = None
    is_part: bool = False  # the caller writes its own entry in the audit log


@dataclass(slots=True)
class Adopted:
    """The result of an adoption; a dry run counts the jobs that would be adopted."""

    adopted: int = 0
    known: int = 0  # its job was here already
    kept: Counter[str] = field(default_factory=Counter)  # by WHY_NOT
    refused: int = 0
    refusals: list[dict[str, Any]] = field(default_factory=list)  # the first refusals
    next: str | None = None  # the value of `after` to continue; None: no job is left
    looked: int = 0


def adopt(order: Order, caller: Caller = SYSTEM) -> Adopted:
    """Adopt waiting jobs of a region, in slices with one transaction each.

    Raises NotFederated, UnknownRegion, InvalidRequest for this region, Conflict for a region that
    may still be up.
    """
    require_adoptable(order.region, force=order.force)
    report = Adopted(next=order.after)
    while report.looked < order.limit:
        more = min(SLICE, order.limit - report.looked)
        with atomic():
            found = queries.waiting(
                order.region, after=report.next or NOBODY, queue=order.queue, batch=more
            )
            _adopt(found, order, caller, report)
        report.looked += len(found)
        report.next = found[-1].job_id if len(found) == more else None
        if report.next is None:
            break
    if not (order.dry_run or order.is_part):
        _record(order, report, caller)
    return report


def require_adoptable(region: str, *, force: bool) -> None:
    """Refuse this region, and without `force` a region that may still be up.

    Raises NotFederated, UnknownRegion, InvalidRequest, Conflict.
    """
    known = required()
    if region == known.local:
        raise InvalidRequest.field("region", "must be another region", region)
    if region not in registry().regions:
        raise UnknownRegion.named(region)
    if not (force or is_down(region)):
        status = str(registry().health[region].status)
        raise Conflict(
            f"region '{region}' is {status}: its jobs could run twice; use force to adopt them",
            details={"region": region, "status": status, "field": "force"},
        )


def is_down(region: str) -> bool:
    """Return whether a region is stored as down; an unregistered region is not."""
    health = registry().health.get(region, Health())
    return health.status is Status.UNHEALTHY or health.breaker is not BreakerState.CLOSED


@dataclass(frozen=True, slots=True)
class Outlook:
    """The waiting jobs of a region, among the first MOST; `queues` are of adoptable jobs."""

    waiting: int
    adoptable: int
    kept: Mapping[str, int]
    queues: Sequence[tuple[str, int]]  # most jobs first

    @property
    def is_exact(self) -> bool:
        """Whether all waiting jobs were counted."""
        return self.waiting < MOST


def outlook(region: str, queue: str | None = None) -> Outlook:
    """Count the jobs of a possible adoption with one statement; checks no permission."""
    rows = queries.adoptable(region, queue=queue, most=MOST)
    kept = Counter(dict.fromkeys(WHY_NOT, 0))
    for row in rows:
        if row.why is not None:
            kept[row.why] += row.jobs
    queues = [(row.queue, row.jobs) for row in rows if row.why is None]
    adoptable = sum(jobs for _, jobs in queues)
    return Outlook(adoptable + kept.total(), adoptable, dict(kept), queues)


def _adopt(found: Sequence[Waiting], order: Order, caller: Caller, report: Adopted) -> None:
    by_tenant: dict[str, list[Waiting]] = {}
    for one in found:
        if why := _why_not(one):
            report.kept[why] += 1
        else:
            by_tenant.setdefault(one.tenant, []).append(one)
    if order.dry_run:
        report.adopted += sum(map(len, by_tenant.values()))
        return
    took: dict[str, str] = {}
    for tenant, waiting in sorted(by_tenant.items()):
        for one, outcome in zip(waiting, _enqueued(waiting, order, tenant, caller), strict=True):
            if isinstance(outcome, Job):
                took[one.job_id] = outcome.id
                _carry(one, outcome)
                report.adopted += not outcome.deduplicated
                report.known += outcome.deduplicated
            else:
                _refuse(one, outcome, report)
    if took:
        queries.adopted(order.region, took)


def _carry(one: Waiting, job: Job) -> None:
    """Store the checkpoint of the replaced job, unless the job was here already."""
    if not job.deduplicated:
        checkpoints.arrived(job.id, _payload(one)["envelope"])


def _why_not(one: Waiting) -> str | None:
    """Return why a job stays where it is, None if it may be adopted."""
    if one.bound_to is not None:
        return BY_BOUND[one.bound_to]
    if one.payload is None:
        return BARE
    if _payload(one)["meta"].get(REGION) is not None:
        return PINNED
    return None if one.winner else LOST


def _payload(one: Waiting) -> dict[str, Any]:
    return jsonio.loads_object((one.payload or "{}").encode())


def _enqueued(
    waiting: Sequence[Waiting], order: Order, tenant: str, caller: Caller
) -> list[Job | OJSError | None]:
    outcomes: list[Job | OJSError | None] = [None] * len(waiting)
    drafts: dict[int, JobDraft] = {}
    for n, one in enumerate(waiting):
        try:
            drafts[n] = parse_job(_envelope(one, order.region), limits=stored_limits())
        except OJSError as problem:
            outcomes[n] = problem
    asker = insisting(Caller(caller.name, tenant, request_id=caller.request_id))
    stored = enqueue_each(list(drafts.values()), asker)
    for n, outcome in zip(drafts, stored, strict=True):
        outcomes[n] = outcome
    return outcomes


def _envelope(one: Waiting, region: str) -> Mapping[str, Any]:
    """Return the enqueue request of the replacing job. Members from the client stay unchanged."""
    payload = _payload(one)
    told = {ADOPTED_FROM: region, ADOPTED_JOB: one.job_id}
    return {
        **payload["envelope"],
        "type": one.type,
        "queue": one.queue,
        "priority": one.priority,
        "args": payload["args"],
        "meta": {FAILOVER_REASON: "adopted", **payload["meta"], **told},
    }


def _refuse(one: Waiting, outcome: OJSError | None, report: Adopted) -> None:
    report.refused += 1
    if len(report.refusals) < LISTED:
        code, message = ("dropped", "an enqueue middleware of this server dropped it")
        if outcome is not None:
            code, message = outcome.code, outcome.message
        report.refusals.append({"job_id": one.job_id, "code": code, "message": message})


def _record(order: Order, report: Adopted, caller: Caller) -> None:
    with audited(caller, "federation.jobs_adopted", order.region, reason=order.reason) as data:
        data |= {
            "adopted": report.adopted, "known": report.known, "refused": report.refused,
            "kept": dict(report.kept), "queue": order.queue, "forced": order.force,
        }  # fmt: skip
