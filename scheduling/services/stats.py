"""What queues were given lately. Spec: fair-scheduling 10.2; contract 20.3."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.domain.claim import Strategy
from jobs.domain.dispatches import Started
from jobs.domain.errors import NotFound
from jobs.models import Queue
from jobs.services.record import dispatches
from scheduling.domain.pool import Pool
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools
from scheduling.services.watch import starved


@dataclass(frozen=True, slots=True)
class QueueStats:
    """What one queue was given in the window; `ratio` is its part of what all of them were."""

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
    """Count what started in the window that ends now: for one pool, or for all and workers in none.

    Of a pool: what its workers started and run. Raises NotFound.
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
    """Return the weights that count; the first pool by name decides where several have a queue."""
    found: dict[str, int] = {}
    for pool in pools:
        if pool.strategy is Strategy.WEIGHTED:
            found = pool.weight_by_queue | found
    return found
