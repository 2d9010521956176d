"""The configuration of a tenant. Spec: MT 8, contract 21.2."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jobs.domain.dispatch.claim import reduced
from jobs.domain.wire.durations import format_duration
from tenancy.domain.throttle import Action, Reduction

MIN_WEIGHT, MAX_WEIGHT = 0.001, 1_000_000
MAX_BOOST: Final = 200  # from the lowest priority to the highest, or back
NAMESPACE: Final = "namespace"  # only workers of the tenant take its jobs
ISOLATIONS: Final = (NAMESPACE, "shared", "hybrid")
SECOND_MS: Final = 1000


class Standing(StrEnum):
    """Wire names."""

    ACTIVE = "active"
    SUSPENDED = "suspended"


class Source(StrEnum):
    """Origin of a tenant: the settings, an operator, or its first job."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    AUTO = "auto"


class QuotaMode(StrEnum):
    """Effect of a limit at enqueue: refuse the job, or emit an event and store it."""

    HARD = "hard"
    SOFT = "soft"


class Rate(NamedTuple):
    """A number of jobs in any `period_ms`."""

    limit: int
    period_ms: int


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """Limits of a tenant; null: unlimited."""

    max_concurrency: int | None = None
    max_enqueue_rate: Rate | None = None
    max_queue_depth: int | None = None
    max_scheduled: int | None = None
    max_queues: int | None = None  # with live jobs

    @property
    def bounds_enqueue(self) -> bool:
        """Whether new jobs have to be counted."""
        counted = (
            self.max_enqueue_rate, self.max_queue_depth, self.max_scheduled, self.max_queues,
        )  # fmt: skip
        return any(limit is not None for limit in counted)

    def to_wire(self) -> dict[str, Any]:
        """Return the members of the contract with the mirrors that its admin UI reads."""
        rate = self.max_enqueue_rate
        return {
            "max_concurrency": self.max_concurrency,
            "max_concurrent_jobs": self.max_concurrency,
            "max_enqueue_rate": rate
            and {"limit": rate.limit, "period": format_duration(rate.period_ms)},
            "max_jobs_per_second": rate and round(rate.limit * SECOND_MS / rate.period_ms),
            "max_queue_depth": self.max_queue_depth,
            "max_scheduled": self.max_scheduled,
            "max_queues": self.max_queues,
        }


@dataclass(frozen=True, slots=True)
class Definition:
    """A tenant as an operator or the settings define it; `standing` null: unchanged."""

    limits: TenantLimits = TenantLimits()
    name: str | None = None
    weight: float | None = None  # null: the pools decide, else 1
    boost: int = 0  # added to the priority of its jobs
    quota_mode: QuotaMode = QuotaMode.HARD
    isolation: str | None = None  # null: the settings decide
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """The parts of a tenant that enqueues and the scheduler use."""

    is_suspended: bool = False
    is_soft: bool = False
    weight: float | None = None
    boost: int = 0
    limits: TenantLimits = TenantLimits()
    is_namespaced: bool = False  # it has a namespace
    reduction: Reduction | None = None  # of a throttled tenant

    @property
    def weight_factor(self) -> float | None:
        """The factor of its weights while throttled, from any source; null: unreduced."""
        throttled = self.reduction
        return throttled.factor if throttled and throttled.action is Action.WEIGHT else None

    @property
    def effective_weight(self) -> float:
        """Its weight if no pool sets one."""
        weight = self.weight or 1
        return reduced(weight, self.weight_factor) if self.weight_factor else weight

    @property
    def cap(self) -> int | None:
        """The cap on its active jobs over all queues; null: any number."""
        if self.is_suspended:
            return 0
        most = self.limits.max_concurrency
        if self.reduction and self.reduction.action is Action.CONCURRENCY:
            return int(self.reduction.effective(most))
        return most

    @property
    def needs_admission(self) -> bool:
        """Whether the admission has to check its new jobs."""
        return self.is_suspended or self.limits.bounds_enqueue
