"""What a FETCH asks for and what the extensions make of it. Spec: contract 3.4, 9.2, 10.1."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A worker's wish for jobs; `queues` in the worker's order."""

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str | None = None
    visibility_ms: int | None = None  # null: the job's, then the server's
    tenant: str | None = None  # null: any
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """One claim as data; extensions narrow or reorder it, never widen it.

    `quotas` holds the most jobs to take at each position of `queues` (null: no bound), so a queue
    may appear more than once. `routes` null accepts any.
    """

    queues: tuple[str, ...]
    quotas: tuple[int | None, ...] | None
    limit: int
    tenant: str | None = None
    routes: tuple[int, ...] | None = None
    pool: str | None = None
    pool_cap: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class LaneKey:
    """What makes jobs equal before the scheduler; `priority` is the effective one."""

    queue: str
    priority: int
    tenant: str
    route: int = 0
