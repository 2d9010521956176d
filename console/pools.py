"""Pools on the pages: rows, shares, and the next turns of their queues."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from console import queries
from console.queries import TenantShare
from jobs.domain.dispatch.claim import STRATEGIES, Strategy
from jobs.domain.lanes.rotations import Ahead
from jobs.domain.wire.durations import format_duration
from jobs.services.lanes.rotations import Outlook, outlook
from jobs.services.operate.queues import QueueStats, named_stats
from scheduling.domain.pool import MAX_QUEUES, Pool, Scope, TenantWeights
from scheduling.domain.pool_gates import share
from scheduling.services.explain import whole_of
from scheduling.services.pools import PoolState

MINUTES = 5  # period of the counted shares
SLOTS = 200  # turns in the forecast
SHOWN = 20  # turns shown; consecutive turns of a queue count once
TENANTS = 20  # tenants that share over several queues
WORDS = {
    Strategy.STRICT: "the first queue with jobs, in order",
    Strategy.ROUND_ROBIN: "one job of each queue in turn",
    Strategy.WEIGHTED: "in proportion to the weights",
    Strategy.LEAST_LOADED: "the deepest queue first",
}

OVER = {
    Scope.POOL: "across all queues of the pool",
    Scope.GLOBAL: "across all queues with this scope",
}


def over(tenants: TenantWeights | None) -> str:
    """Return the sharing scope in words; empty if tenants share each queue separately."""
    return OVER.get(tenants.scope, "") if tenants and tenants.enabled else ""


def name_of(strategy: Strategy) -> str:
    """Return the wire name of a strategy."""
    return next(name for name, code in STRATEGIES.items() if code is strategy)


@dataclass(frozen=True, slots=True)
class PoolLine:
    """A pool in lists and on its own page."""

    state: PoolState

    @property
    def pool(self) -> Pool:
        """Return the definition of the pool."""
        return self.state.pool

    @property
    def strategy(self) -> str:
        """Return the wire name of the pool's strategy."""
        return name_of(self.pool.strategy)

    @property
    def words(self) -> str:
        """Return a description of the strategy."""
        return WORDS[self.pool.strategy]

    @property
    def has_weights(self) -> bool:
        """Return whether the weights of its queues count."""
        return self.pool.strategy is Strategy.WEIGHTED

    @property
    def queues(self) -> list[tuple[str, int]]:
        """Return its queues with their weights."""
        return list(zip(self.pool.queues, self.pool.weights, strict=True))

    @property
    def used(self) -> float | None:
        """Return the used part of its concurrency; None without a bound."""
        cap = self.pool.concurrency
        return None if cap is None else self.state.active_jobs / cap

    @property
    def is_full(self) -> bool:
        """Return whether its concurrency is used up."""
        return self.used is not None and self.used >= 1

    @property
    def over(self) -> str:
        """Return the sharing scope in words; empty if tenants share each queue separately."""
        return over(self.pool.tenants)

    @property
    def rotation(self) -> str:
        """Return the longest time that a queue waits for a turn."""
        return format_duration(self.pool.prevention.rotation_ms)


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue of a pool: its waiting jobs, its share and its entitlement."""

    name: str
    position: int
    weight: int
    stats: QueueStats | None  # None: it had no job yet
    started: int
    got: float | None  # its part of the pool's started jobs; None: no job started
    due: float | None  # its entitlement while all queues have jobs; None: not fixed
    may_start: bool  # it has a job that may start
    is_owed: bool
    place: int | None  # turns of other queues before its own; None: none in sight
    waits: int


@dataclass(frozen=True, slots=True)
class Detail:
    """A pool with its queues; `following` has the next turns."""

    queues: Sequence[QueueLine]
    following: Sequence[tuple[str, int]]  # queues with the number of consecutive turns
    started: int
    nameless: int  # workers without a pool, which are in this default pool
    scope: str | None  # over which tenants share; None: each queue separately
    tenants: Sequence[TenantShare]  # tenants that share over the scope


def detail(line: PoolLine) -> Detail:
    """Read a pool's queues and its next turns; a fixed number of statements."""
    pool = line.pool
    found, _ = named_stats(names=pool.queues, limit=MAX_QUEUES, offset=0)
    started = queries.starts(pool.queues, MINUTES)
    plan = whole_of(pool.name)
    view = outlook((), [plan], slots=SLOTS) if plan and plan.queues else None
    ahead = view.rotations[0] if view else Ahead((), (), (), (), (), 0)
    stats = {one.name: one for one in found}
    return Detail(
        list(_queues(pool, stats, started, ahead)),
        [(ahead.queues[n], len(list(run))) for n, run in groupby(ahead.order)][:SHOWN],
        sum(started.values()),
        _nameless(view) if pool.name == "default" else 0,
        line.state.scope,
        [] if line.state.scope is None else queries.shares(line.state.scope, MINUTES, TENANTS),
    )


def _nameless(view: Outlook | None) -> int:
    return sum(crew.running for crew in view.crews if crew.pool is None) if view else 0


def _queues(
    pool: Pool, stats: dict[str, QueueStats], started: dict[str, int], ahead: Ahead
) -> Iterator[QueueLine]:
    total = sum(started.values())
    for n, (name, weight) in enumerate(zip(pool.queues, pool.weights, strict=True)):
        at = ahead.queues.index(name) if name in ahead.queues else None
        number = started.get(name, 0)
        yield QueueLine(
            name=name,
            position=n + 1,
            weight=weight,
            stats=stats.get(name),
            started=number,
            got=number / total if total else None,
            due=share(pool, name),
            may_start=at is not None and ahead.is_open[at],
            is_owed=at is not None and ahead.is_owed[at],
            place=None if at is None else ahead.place_of(name),
            waits=0 if at is None else ahead.waits[at],
        )
