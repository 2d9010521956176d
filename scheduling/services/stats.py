"""Count recent dispatches by queue. Spec: fair-scheduling 10.2; contract 20.3."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.domain.dispatch.claim import Strategy
from jobs.domain.errors import NotFound
from jobs.domain.record.dispatches import Started
from jobs.models import Queue
from jobs.services.record import dispatches
from scheduling.domain.pool import Pool
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools
from scheduling.services.watch import starved


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Dispatches of one queue in the window; `ratio` is its part of all dispatches."""

    name: str
    dispatched: int
    ratio: float
    avg_wait_ms: float
    active_jobs: int
    available_jobs: int
    weight: int
    is_starved: bool


@dataclass(frozen=True, slots=True)
class Stats:
    """The queues of a pool in its order, or all by name."""

    strategy: Strategy
    queues: list[QueueStats]


def stats(window_ms: int, name: str | None = None) -> Stats:
    """Count the starts in the window that ends now: of one pool, or of all workers.

    For a pool, the jobs of its workers count as started and active. Raises NotFound.
    """
    pools = pool_cache.latest()
    if name is None:
        return Stats(pools.default_strategy, _of(_all(pools), window_ms, None, pools))
    pool = pools.by_name.get(name)
    if pool is None:
        raise NotFound.of("pool", name)
    return Stats(pool.strategy, _of(pool.queues, window_ms, pool, pools))


def _all(pools: Pools) -> list[str]:
    stored = Queue.objects.values_list("name", flat=True)
    return sorted({*stored, *(queue for pool in pools.by_name.values() for queue in pool.queues)})


def _of(queues: Iterable[str], window_ms: int, pool: Pool | None, pools: Pools) -> list[QueueStats]:
    names, only = list(queues), None if pool is None else pool.name
    started = dispatches.started(window_ms, names, only)
    total = sum(one.jobs for one in started.values())
    loads = dispatches.loads(names, only)
    starving = starved(names)
    weights = _weights(pools.by_name.values() if pool is None else [pool])
    return [
        QueueStats(
            name=name,
            dispatched=one.jobs,
            ratio=one.jobs / total if total else 0.0,
            avg_wait_ms=one.wait_ms / one.jobs if one.jobs else 0.0,
            active_jobs=loads[name].active,
            available_jobs=loads[name].available,
            weight=weights.get(name, 1),
            is_starved=name in starving,
        )
        for name in names
        for one in [started.get(name, Started())]
    ]


def _weights(pools: Iterable[Pool]) -> dict[str, int]:
    """Return the effective weights; if several pools have a queue, the first by name decides."""
    found: dict[str, int] = {}
    for pool in pools:
        if pool.strategy is Strategy.WEIGHTED:
            found = pool.weight_by_queue | found
    return found
