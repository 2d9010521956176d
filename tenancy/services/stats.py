"""Compute statistics of tenants. Spec: MT 10.2, contract 21.2.

Numbers of jobs are exact; rates, shares and counts of a day are as of the last aggregation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from jobs.domain.errors import NotFound
from jobs.domain.record.periods import MINUTE
from jobs.domain.states import CODES, State
from jobs.services.read.clock import now
from jobs.services.record.rates import Rates, Spell, history, rates
from tenancy import queries
from tenancy.domain.noise import Signal
from tenancy.domain.throttle import Throttled
from tenancy.models import Tenant
from tenancy.queries import Usage
from tenancy.services import noise
from tenancy.services.reductions import throttled
from tenancy.services.tenant_cache import limits_of, policy_of
from tenancy.services.tenants import find

SHARE_MINUTES = 5  # period of the compared dispatches


@dataclass(frozen=True, slots=True)
class Summary:
    """Current figures of a tenant."""

    jobs: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    queues: int = 0
    workers: int = 0
    live_queues: int = 0  # with live jobs
    signals: tuple[Signal, ...] = ()  # empty: not noisy
    throttle: Throttled | None = None  # as it applies now

    @property
    def noisy(self) -> bool:
        """Whether it is noisy."""
        return bool(self.signals)

    @property
    def noisy_reasons(self) -> tuple[str, ...]:
        """Codes of the thresholds that it exceeds."""
        return tuple(str(one.reason) for one in self.signals)


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a tenant; shares are parts of 1."""

    tenant: Tenant
    summary: Summary
    completed_24h: int
    failed_24h: int  # attempts
    rates: Rates
    used: dict[str, tuple[int, int]]  # limit and usage, by name
    effective_share: float
    actual_share: float


def summaries(tenants: Sequence[Tenant]) -> dict[str, Summary]:
    """Return the current figures of tenants; two statements."""
    found = queries.summaries([row.id for row in tenants])
    signals = noise.signals([row.id for row in tenants])
    none = queries.Summary({})
    return {
        row.id: Summary(
            {state: one.jobs.get(code, 0) for state, code in CODES.items()},
            one.queues,
            one.workers,
            one.live_queues,
            signals.get(row.id, ()),
            throttled(row),
        )
        for row in tenants
        for one in (found.get(row.id, none),)
    }


def stats(tenant_id: str) -> Stats:
    """Return the statistics of a tenant. Raises NotFound if it has neither a row nor a job."""
    try:
        row = find(tenant_id)
    except NotFound:
        row = Tenant(id=tenant_id)  # deleted meanwhile, but its ended jobs exist
        if not queries.summaries([tenant_id]):
            raise
    summary = summaries([row])[tenant_id]
    lately = history(_day(), tenant=tenant_id)
    weight = policy_of(row).effective_weight
    shares = queries.shares(tenant_id, SHARE_MINUTES)
    return Stats(
        row,
        summary,
        sum(point.completed for point in lately),
        sum(point.failed for point in lately),
        rates(tenant=tenant_id),
        used([row], {tenant_id: summary})[tenant_id],
        round(weight / shares.weights, 4) if shares.is_eligible and shares.weights else 0.0,
        round(shares.started / shares.started_by_all, 4) if shares.started_by_all else 0.0,
    )


def _day() -> Spell:
    """Return the period of the last 24 hours, with the current minute."""
    minute = now().replace(second=0, microsecond=0)
    return Spell(MINUTE, minute - timedelta(days=1), minute + timedelta(minutes=1))


def used(
    tenants: Sequence[Tenant], counted: Mapping[str, Summary]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the limits of each tenant with their usage, by name.

    One statement if a tenant has a rate, else none.
    """
    rates_of = {row.id: rate for row in tenants if (rate := limits_of(row).max_enqueue_rate)}
    periods = {one: rate.period_ms for one, rate in rates_of.items()}
    usage = queries.usage(periods) if periods else {}
    return {row.id: _used(row, counted[row.id], usage.get(row.id, Usage()).came) for row in tenants}


def _used(row: Tenant, summary: Summary, came: int) -> dict[str, tuple[int, int]]:
    limits, jobs = limits_of(row), summary.jobs
    rate = limits.max_enqueue_rate
    found: dict[str, tuple[int | None, int]] = {
        "max_concurrency": (limits.max_concurrency, jobs[State.ACTIVE]),
        "max_enqueue_rate": (rate and rate.limit, came),
        "max_queue_depth": (
            limits.max_queue_depth, jobs[State.AVAILABLE] + jobs[State.SCHEDULED],
        ),
        "max_scheduled": (limits.max_scheduled, jobs[State.SCHEDULED]),
        "max_queues": (limits.max_queues, summary.live_queues),
    }  # fmt: skip
    return {name: (most, held) for name, (most, held) in found.items() if most is not None}
