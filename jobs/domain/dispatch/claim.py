"""A FETCH as data, and its plan by the extensions. Spec: contract 3.4, 9.2, 10.1."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import floor
from typing import Final, NamedTuple

MAX_WEIGHT: Final = 1_000_000  # of a queue
NAMESPACE_END: Final = ":"  # between tenant and queue; queue names cannot contain it
POOL_PATTERN: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}")


class Declaration(NamedTuple):
    """The versions of types that a worker handles: JSON written by an extension."""

    digest: int  # identifies the text
    text: str


UNDECLARED: Final = Declaration(0, "null")


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A worker's request for jobs; `queues` in the worker's order, empty: the queues of its pool.

    A queue may be named as `tenant:queue`, which requests the jobs of that tenant alone.
    """

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str | None = None
    visibility_ms: int | None = None  # null: the job's, then the server's
    tenant: str | None = None  # null: any
    caller_tenant: str | None = None  # the tenant that the caller is bound to, and its worker too
    pool: str | None = None
    names_pool: bool = True  # the worker named the pool itself; false: the server found it
    strategy: str | None = None  # the queue strategy, where the server leaves it open
    weights: Mapping[str, float] | None = None
    may_fetch: Callable[[str], bool] | None = None  # by queue name; null: any
    # the versions it handles; null: as it declared before
    declaration: Declaration | None = None
    # The worker's declaration that parts of this request follow from; the claim checks it. Null:
    # the request is complete by itself.
    declared: int | None = None
    prefetches: bool = False  # it holds more jobs than it runs, and counts its running jobs itself


class Strategy(IntEnum):
    """The strategies of queue rotation; the codes of `ojs_turns`."""

    STRICT = 0
    ROUND_ROBIN = 1
    WEIGHTED = 2
    LEAST_LOADED = 3

    @property
    def wire(self) -> str:
        """The name on the wire."""
        return self.name.lower().replace("_", "-")


class PriorityScope(StrEnum):
    """Where priorities compete: inside a queue, or over all queues of a FETCH. Spec: D-FS-5."""

    QUEUE = "queue"
    GLOBAL = "global"


STRATEGIES: Final = {one.wire: one for one in Strategy}


@dataclass(frozen=True, slots=True)
class QueueRotation:
    """The queue rotation of a claim; `weights` by position.

    `key` names the stored position, which all processes share. `ratio` null: no starvation
    prevention. With `is_global` only queues whose best job has the highest priority of all take
    part.
    """

    key: str
    strategy: Strategy
    weights: tuple[float, ...] | None = None
    ratio: float | None = None
    rotation_ms: int | None = None
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """One claim as data; extensions narrow or reorder it, and may fill members that are unset.

    `non_monotonic` are queues with non-monotonic lanes: their virtual times may fall, so low-water
    marks do not apply. `version_keys` null accepts any version key. `leaves_out_versions` states
    that version keys exist which `version_keys` omits. `rotation` null: each queue until it is
    empty, in their order. The plan follows from `config_version`, null: from none. `scopes` names
    the scope of each queue that tenants share over several queues.
    """

    queues: tuple[str, ...]
    limit: int
    tenant: str | None = None
    version_keys: tuple[int, ...] | None = None
    leaves_out_versions: bool = False
    pool: str | None = None
    pool_cap: int | None = None
    rotation: QueueRotation | None = None
    config_version: int | None = None
    non_monotonic: frozenset[str] = frozenset()
    scopes: Mapping[str, str] = field(default_factory=dict)


class SharingPolicy(NamedTuple):
    """The sharing policy of a queue: oldest first over all tenants, or charged by duration.

    A `scope` shares the queue among tenants together with other queues; null: by itself. ADR 0018.
    """

    is_ordered: bool = False
    is_timed: bool = False
    scope: str | None = None

    @property
    def is_non_monotonic(self) -> bool:
        """Whether virtual times are non-monotonic, or not used."""
        return self.is_ordered or self.is_timed


class Share(NamedTuple):
    """A lane's share of its queue; `boost` is added to the priority of its jobs.

    `found_in` is the queue in which claims find the lane, null: the queue of its key, or no change.
    """

    weight: float = 1.0
    policy: SharingPolicy = SharingPolicy()
    boost: int = 0
    found_in: str | None = None


class LaneKey(NamedTuple):
    """Scheduling key: jobs with equal keys share a lane; `priority` is without boost."""

    queue: str
    priority: int
    tenant: str
    route: int = 0
    limits: tuple[int, ...] = ()  # ids of the limits that the jobs name, ascending

    def namespaced(self) -> str:
        """Return the queue in which a claim finds the lane if its tenant has a namespace."""
        return f"{self.tenant}{NAMESPACE_END}{self.queue}"


def split_queue(name: str) -> tuple[str | None, str]:
    """Return the tenant (None: any) and the queue of `tenant:queue` or of a plain name."""
    tenant, mark, queue = name.rpartition(NAMESPACE_END)
    return (tenant if mark else None), queue


def reduced(configured: float, factor: float) -> float:
    """Return the weight under a throttle: a whole number, at least 1, if that is a reduction.

    Otherwise the exact product: a tenant of the default weight 1 would not be throttled at all.
    """
    left = max(1, floor(configured * factor))
    return left if left < configured else configured * factor
