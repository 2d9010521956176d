"""What a FETCH asks for and what the extensions make of it. Spec: contract 3.4, 9.2, 10.1."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import floor
from typing import Final, NamedTuple

MAX_WEIGHT: Final = 1_000_000  # of a queue
NAMESPACE_END: Final = ":"  # between tenant and queue; in no name of a queue
POOL_PATTERN: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}")


class Declaration(NamedTuple):
    """Which versions of types a worker handles: JSON as an extension wrote it; NONE: nothing."""

    digest: int  # names the text
    text: str


UNDECLARED: Final = Declaration(0, "null")


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A worker's wish for jobs; `queues` in the worker's order, none: those of its pool.

    A queue may be named as `tenant:queue`, which asks for the jobs of that tenant alone.
    """

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str | None = None
    visibility_ms: int | None = None  # null: the job's, then the server's
    tenant: str | None = None  # null: any
    bound_to: str | None = None  # the tenant that the caller is bound to, whose its worker is
    pool: str | None = None
    is_declared: bool = True  # the worker named the pool itself; false: it is known from before
    strategy: str | None = None  # how the queues shall take turns, where the server leaves it open
    weights: Mapping[str, float] | None = None
    may_fetch: Callable[[str], bool] | None = None  # by queue name; null: any
    # what it handles; null: as it declared before
    declaration: Declaration | None = None
    # the declaration of its worker that all this goes by in part, which the claim checks; null: the
    # request says everything itself
    remembered: int | None = None
    prefetches: bool = False  # it holds more than it runs, and keeps count of that itself


class Strategy(IntEnum):
    """How queues take turns; the codes of `ojs_turns`."""

    STRICT = 0
    ROUND_ROBIN = 1
    WEIGHTED = 2
    LEAST_LOADED = 3

    @property
    def wire(self) -> str:
        """Its name on the wire."""
        return self.name.lower().replace("_", "-")


class PriorityScope(StrEnum):
    """Where priorities compete: inside a queue, or over all queues of a FETCH. Spec: D-FS-5."""

    QUEUE = "queue"
    GLOBAL = "global"


STRATEGIES: Final = {one.wire: one for one in Strategy}


@dataclass(frozen=True, slots=True)
class Turns:
    """What the queues of a claim take turns by; `weights` by position.

    `key` names where the turns stand, for all processes. `ratio` null: no queue is owed any. With
    `is_global` only queues whose best job has the highest priority of all take them.
    """

    key: str
    strategy: Strategy
    weights: tuple[float, ...] | None = None
    ratio: float | None = None
    rotation_ms: int | None = None
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """One claim as data; extensions narrow or reorder it, and widen only what the request left out.

    `restless` are queues whose lanes' virtual times may fall, so that what was once the first lane
    bounds nothing. `routes` null accepts any; `refuses` tells that there are others. `turns` null:
    each queue until it is empty, in their order. `terms` is the version of the terms that the plan
    follows from, null: of none. `scopes` names those that tenants share over, by queue, where it is
    more than the queue.
    """

    queues: tuple[str, ...]
    limit: int
    tenant: str | None = None
    routes: tuple[int, ...] | None = None
    refuses: bool = False
    pool: str | None = None
    pool_cap: int | None = None
    turns: Turns | None = None
    terms: int | None = None
    restless: frozenset[str] = frozenset()
    scopes: Mapping[str, str] = field(default_factory=dict)


class Way(NamedTuple):
    """How jobs of a queue are shared: oldest first whosever they are, or tenants pay durations.

    Or tenants share it together with the other queues of a `scope`, null: by itself. ADR 0018.
    """

    is_ordered: bool = False
    is_timed: bool = False
    scope: str | None = None

    @property
    def is_restless(self) -> bool:
        """Whether virtual times may fall, or are none."""
        return self.is_ordered or self.is_timed


class Share(NamedTuple):
    """How a lane shares its queue with others; `boost` is added to the priority of its jobs.

    `found_in` is the queue that claims find it in, null: that of its key, or as it is.
    """

    weight: float = 1.0
    way: Way = Way()
    boost: int = 0
    found_in: str | None = None


class LaneKey(NamedTuple):
    """What makes jobs equal before the scheduler; `priority` is that of the jobs, unboosted."""

    queue: str
    priority: int
    tenant: str
    route: int = 0
    limits: tuple[int, ...] = ()  # ids of the limits that the jobs name, ascending

    def namespaced(self) -> str:
        """Return the queue that a claim finds the lane in where its tenant is kept apart."""
        return f"{self.tenant}{NAMESPACE_END}{self.queue}"


def split_queue(name: str) -> tuple[str | None, str]:
    """Return the tenant, None: any, and the queue that `tenant:queue` or a plain name names."""
    tenant, mark, queue = name.rpartition(NAMESPACE_END)
    return (tenant if mark else None), queue


def reduced(configured: float, factor: float) -> float:
    """Return what a throttle leaves of a weight: whole numbers, at least 1, while that takes any.

    Else the plain part of it: a tenant that weighs 1, as all do that nobody said anything about,
    would keep its whole share otherwise.
    """
    left = max(1, floor(configured * factor))
    return left if left < configured else configured * factor
