"""Pools, their policies and rules. Spec: fair-scheduling 6 to 9."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from jobs.domain.dispatch.claim import SharingPolicy, Strategy

DEFAULT: Final = "default"  # the pool of workers that name no pool
MAX_CONCURRENCY: Final = 2**31 - 1
MAX_QUEUES: Final = 100
MAX_TENANTS: Final = 1_000
EVERYWHERE: Final = "*"  # the scope of shares that belongs to no pool


@dataclass(frozen=True, slots=True)
class Prevention:
    """Starvation prevention of a pool's queues. Spec: fair-scheduling 8."""

    enabled: bool = False
    rotation_ms: int = 30_000
    min_ratio: float = 0.05

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Prevention":
        """Read a row written by `to_row`."""
        return cls(**row)

    def to_row(self) -> dict[str, Any]:
        """Return the members for the database."""
        return {
            "enabled": self.enabled, "rotation_ms": self.rotation_ms, "min_ratio": self.min_ratio,
        }  # fmt: skip

    def is_feasible(self, queues: int) -> bool:
        """Return whether so many queues can all get their minimum share."""
        return not self.enabled or self.min_ratio * queues <= 1 + 1e-9


class Cost(StrEnum):
    """Cost of a job for its tenant."""

    DISPATCH = "dispatch"  # each job costs the same
    DURATION = "duration"  # the job's run time divided by the average


class Scope(StrEnum):
    """Queues that share together: each queue, the queues of a pool, or all queues of this scope."""

    QUEUE = "queue"
    POOL = "pool"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class TenantWeights:
    """Weights of tenants that share a queue. Spec: fair-scheduling 9.2, contract 20.4.

    Not `enabled`: tenants do not share, and jobs go in their order. The other members are kept for
    later.
    """

    weights: Mapping[str, int] = field(default_factory=dict)
    default: int = 1
    enabled: bool = True
    cost: Cost = Cost.DISPATCH
    scope: Scope = Scope.QUEUE

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "TenantWeights":
        """Read a row written by `to_row`."""
        return cls(
            row["weights"], row["default"], row["enabled"], Cost(row["cost"]), Scope(row["scope"])
        )

    def to_row(self) -> dict[str, Any]:
        """Return the members for the database."""
        return {
            "weights": dict(self.weights), "default": self.default, "enabled": self.enabled,
            "cost": self.cost.value, "scope": self.scope.value,
        }  # fmt: skip

    def sharing_policy(self, pool: str | None) -> SharingPolicy:
        """Return the sharing policy for the lanes of a queue that counts for `pool`."""
        if not self.enabled:
            return SharingPolicy(is_ordered=True)
        scope = EVERYWHERE if self.scope is Scope.GLOBAL else None
        return SharingPolicy(
            is_timed=self.cost is Cost.DURATION, scope=pool if self.scope is Scope.POOL else scope
        )

    def of(self, tenant: str) -> int:
        """Return the weight of a tenant."""
        return self.weights.get(tenant, self.default)


@dataclass(frozen=True, slots=True)
class Pool:
    """A named group of workers with a policy; `weights` by position of `queues`."""

    name: str
    queues: tuple[str, ...]
    weights: tuple[int, ...]
    strategy: Strategy = Strategy.ROUND_ROBIN
    concurrency: int | None = None  # null: not bounded
    isolated: bool = False
    prevention: Prevention = Prevention()
    tenants: TenantWeights | None = None  # null: the default
    tenant: str | None = None  # its workers get only jobs of this tenant; null: of any tenant

    @property
    def weight_by_queue(self) -> dict[str, int]:
        """The weights of its queues, in their order."""
        return dict(zip(self.queues, self.weights, strict=True))
