"""Admit or refuse new jobs of tenants. Spec: MT 8.2, contract 21.2, 21.4.

Counting runs under a lock that producers of a counted tenant hold until they commit. Jobs that
leave the queues meanwhile only make room. Tenants without limits cost no count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import PermissionDenied
from jobs.domain.record.events import Kind
from jobs.services.read.clock import now
from jobs.services.record.emit import NewEvent, emit
from tenancy import queries
from tenancy.conf import conf
from tenancy.domain.errors import TenantLimitExceeded, UnknownTenant
from tenancy.domain.tenant import QuotaMode, Source, TenantLimits, TenantPolicy
from tenancy.queries import Usage
from tenancy.services import moves, tenant_cache


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a request exceeds; `index` is the first job beyond it, null: all are."""

    limit: str
    current: int
    maximum: int
    retry_s: int
    index: int | None = None


def is_needed(drafts: Sequence[JobDraft], version: int) -> bool:
    """Return whether a tenant of the drafts is new to this process, suspended or counted."""
    ids = {draft.tenant for draft in drafts}
    by_id = tenant_cache.current(ids, version).by_id
    return any(one not in by_id or by_id[one].needs_admission for one in ids)


def admit(drafts: Sequence[JobDraft], caller: Caller) -> None:
    """Create new tenants, and check that the jobs are allowed; in the insert's transaction.

    Raises UnknownTenant, TenantSuspended, TenantLimitExceeded.
    Locks: rows of tenants that it creates, by id; then the counted tenants.
    """
    ids = {draft.tenant for draft in drafts}
    by_id = tenant_cache.current(ids).by_id
    policies = {one: by_id[one] for one in ids if one in by_id}
    _make(sorted(ids - policies.keys()), caller)
    for one in sorted(policies):
        if policies[one].is_suspended:
            raise _by(caller, moves.suspended(one))
    counted = {
        one: policies[one] for one in sorted(policies) if policies[one].limits.bounds_enqueue
    }
    if counted:
        _count(drafts, counted)


def hold(drafts: Sequence[JobDraft]) -> None:
    """Lock the tenants of the drafts, all at once and so in order.

    It also locks tenants without limits: a limit may be set before the last part is stored.
    """
    queries.lock(sorted({draft.tenant for draft in drafts}))


def _make(unknown: Sequence[str], caller: Caller) -> None:
    if not unknown:
        return
    if conf().unknown == "reject":
        problem = UnknownTenant(
            f"tenant {unknown[0]} does not exist", details={"tenant_id": unknown[0]}
        )
        raise _by(caller, problem)
    emit([created(one, Source.AUTO) for one in queries.create(unknown)])


def _by(caller: Caller, problem: PermissionDenied) -> PermissionDenied:
    problem.principal = caller.name
    return problem


def created(tenant: str, source: Source) -> NewEvent:
    """Return the event of a new tenant."""
    return NewEvent(
        Kind.TENANT_CREATED, tenant=tenant, data={"tenant_id": tenant, "source": str(source)}
    )


# --- limits ---------------------------------------------------------------------------------------


def _count(drafts: Sequence[JobDraft], counted: Mapping[str, TenantPolicy]) -> None:
    queries.lock(counted)
    rates = {one: policy.limits.max_enqueue_rate for one, policy in counted.items()}
    used = queries.usage({one: rate and rate.period_ms for one, rate in rates.items()})
    coming = _coming(drafts, counted)
    spread = {
        one: coming[one].queues for one in counted if counted[one].limits.max_queues is not None
    }
    queues = queries.queues(spread) if spread else {}
    for one, policy in counted.items():
        for excess in _excesses(policy.limits, used[one], coming[one], queues.get(one)):
            if not policy.is_soft:
                raise _exceeded(one, excess, is_batch=len(drafts) > 1)
            emit([_event(one, excess, QuotaMode.SOFT)])
    came = [
        {"tenant": one, "period_ms": rate.period_ms, "jobs": coming[one].jobs}
        for one, rate in rates.items()
        if rate is not None
    ]
    if came:
        queries.count(came)


@dataclass(slots=True)
class _Coming:
    """The jobs of a request for one tenant.

    `later` has the positions of jobs for a later time. `queues` has the position of the first job
    for each queue, in their order.
    """

    jobs: int = 0
    later: list[int] = field(default_factory=list)
    queues: dict[str, int] = field(default_factory=dict)


def _coming(drafts: Sequence[JobDraft], counted: Mapping[str, TenantPolicy]) -> dict[str, _Coming]:
    found = {one: _Coming() for one in counted}
    is_timed = any(draft.scheduled_at is not None for draft in drafts)
    at = now() if is_timed else None  # a time that has passed makes no scheduled job
    for n, draft in enumerate(drafts):
        if draft.tenant in found:
            found[draft.tenant].jobs += 1
            found[draft.tenant].queues.setdefault(draft.queue, n)
            if _is_later(draft, at):
                found[draft.tenant].later.append(n)
    return found


def _is_later(draft: JobDraft, at: datetime | None) -> bool:
    if draft.pending:
        return False
    if draft.scheduled_at is not None and at is not None:
        return draft.scheduled_at > at
    return bool(draft.scheduled_in_ms)


def _excesses(
    limits: TenantLimits, used: Usage, coming: _Coming, queues: tuple[int, set[str]] | None
) -> Iterator[Excess]:
    """Yield the limits that have no room for the request, in the order of the contract.

    `queues` is the number of queues where the tenant has live jobs, and which of the request's
    queues are among them.
    """
    rate = limits.max_enqueue_rate
    if rate is not None and used.came + coming.jobs > rate.limit:
        wait_s = rate.period_ms / 1000 if used.opens_in_s is None else used.opens_in_s
        yield Excess("max_enqueue_rate", used.came, rate.limit, max(1, ceil(wait_s)))
    retry_s = conf().full_retry_s
    most = limits.max_queue_depth
    if most is not None and used.depth + coming.jobs > most:
        yield Excess("max_queue_depth", used.depth, most, retry_s)
    most = limits.max_scheduled
    if most is not None and coming.later and used.scheduled + len(coming.later) > most:
        room = max(0, most - used.scheduled)
        yield Excess("max_scheduled", used.scheduled, most, retry_s, coming.later[room])
    most = limits.max_queues
    if most is not None and queues is not None:
        held, used_before = queues
        new = [place for queue, place in coming.queues.items() if queue not in used_before]
        if new and held + len(new) > most:
            yield Excess("max_queues", held, most, retry_s, new[max(0, most - held)])


def _exceeded(tenant: str, excess: Excess, *, is_batch: bool) -> TenantLimitExceeded:
    return TenantLimitExceeded(
        f"Tenant '{tenant}' has exceeded {excess.limit} ({excess.maximum})",
        details={"index": excess.index} if is_batch and excess.index is not None else {},
        headers={"Retry-After": str(excess.retry_s)},
        extra={
            "tenant_id": tenant,
            "limit": excess.limit,
            "current": excess.current,
            "maximum": excess.maximum,
        },
    )


def _event(tenant: str, excess: Excess, mode: QuotaMode) -> NewEvent:
    data = {
        "tenant_id": tenant, "limit": excess.limit, "current": excess.current,
        "maximum": excess.maximum, "mode": str(mode),
    }  # fmt: skip
    return NewEvent(Kind.TENANT_LIMIT_EXCEEDED, tenant=tenant, data=data)


def emit_refused(problem: TenantLimitExceeded) -> None:
    """Emit the event of refused jobs, after the rollback of their request."""
    facts = {name: problem.extra[name] for name in ("tenant_id", "limit", "current", "maximum")}
    data = {**facts, "mode": str(QuotaMode.HARD)}
    emit([NewEvent(Kind.TENANT_LIMIT_EXCEEDED, tenant=facts["tenant_id"], data=data)])
