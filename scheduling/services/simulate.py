"""Simulate a workload with the current and with a changed configuration, by the real claim.

Each simulation has a scratch store and a thread of its own; see jobs/services/upkeep/scratch.py and
docs/adr/0011-simulation.md. It reads live tables before it begins, and writes none.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Event
from time import monotonic
from typing import Any, Final

from django.db.models import Q
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest, LaneKey
from jobs.domain.errors import Conflict, Unprocessable
from jobs.domain.lanes.limits import OF_QUEUE, OF_TENANT, LimitPolicy
from jobs.domain.lanes.queues import merge
from jobs.models import Limit, Queue
from jobs.services.upkeep.scratch import LimitName, Scratch, ScratchJob, scratch
from scheduling.domain.change import Change
from scheduling.domain.outcome import Outcome, outcome
from scheduling.domain.simulation import TooLong, simulate, step_of
from scheduling.domain.workload import Workers, Workload
from scheduling.services import pool_cache
from scheduling.services.pool_cache import Pools
from scheduling.services.pools import refuse_contradiction

BEGINNING: Final = datetime(
    2000, 1, 1, tzinfo=UTC
)  # fixed, so that equal simulations give equal results
LOOK_S: Final = 0.5  # between two reports of progress
COUNTED: Final = 100  # waiting jobs of a queue from which on depths are stored

Progress = Callable[[float], None]
Context = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Setup:
    """A whole configuration; `limits` are limits of tenants, keys and types, by live id.

    `context` surrounds the simulation, in its thread: it may change what extensions read.
    """

    pools: Pools
    queues: Mapping[str, Mapping[str, Any]]
    overrides: Mapping[str, LimitPolicy]  # of queues' limits, by queue
    limits: Mapping[int, tuple[LimitName, LimitPolicy]]
    workers: tuple[Workers, ...]
    context: Context = nullcontext


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of a workload before and after a change; null `after` without a change."""

    load: Workload
    before: Outcome
    after: Outcome | None
    step_ms: int

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain values for JSON."""
        return {
            "jobs": len(self.load.arrivals),
            "window_ms": self.load.until_ms,
            "step_ms": self.step_ms,
            "notes": list(self.load.notes),
            "before": self.before.to_json(),
            "after": self.after and self.after.to_json(),
        }


def configured(load: Workload, pools: Pools) -> Setup:
    """Read the current configuration of all parts that a workload uses."""
    lanes = {job.lane for job in load.arrivals}
    queues: dict[str, Mapping[str, Any]] = {name: {} for name in {lane.queue for lane in lanes}}
    queues |= dict(Queue.objects.values_list("name", "config"))
    limited = {limit for lane in lanes for limit in lane.limits}
    found = Limit.objects.filter(
        Q(id__in=limited)
        | Q(kind=OF_TENANT, tenant__in={lane.tenant for lane in lanes})
        | Q(kind=OF_QUEUE, key__in=queues, override__isnull=False)
    ).annotate(at=Now())
    overrides: dict[str, LimitPolicy] = {}
    limits: dict[int, tuple[LimitName, LimitPolicy]] = {}
    for row in found:
        policy = _in_force(row)
        if row.kind == OF_QUEUE:
            overrides |= {row.key: policy} if row.override else {}
        else:
            limits[row.id] = LimitName(row.kind, row.tenant, row.key), policy
    return Setup(pools, queues, overrides, limits, load.workers)


def _in_force(row: Any) -> LimitPolicy:
    is_overridden = row.override and (row.override_until is None or row.override_until > row.at)
    stored = row.override if is_overridden else row.policy
    return LimitPolicy.from_row(stored) if stored else LimitPolicy()


def changed(setup: Setup, change: Change) -> Setup:
    """Return a configuration with a change. Raises Conflict and Unprocessable."""
    by_name = dict(setup.pools.by_name)
    for name, pool in change.pools.items():
        if pool is None and by_name.pop(name, None) is None:
            raise Unprocessable.field(f"pools.{name}", "is not a pool that can be removed")
        if pool is not None:
            by_name[name] = pool
    pools = pool_cache.changed(setup.pools, by_name, change.strategy, change.scope, change.tenants)
    for name, pool in change.pools.items():
        if pool is not None:
            _refuse_contradiction(name, pools)
    queues = dict(setup.queues)
    for name, config in change.queues.items():
        queues[name] = merge(queues.get(name, {}), config, strict=True)
    overrides = {name: one for name, one in setup.overrides.items() if name not in change.queues}
    workers = setup.workers if change.workers is None else change.workers
    return replace(setup, pools=pools, queues=queues, overrides=overrides, workers=workers)


def _refuse_contradiction(name: str, pools: Pools) -> None:
    try:
        refuse_contradiction(pools.by_name[name], pools)
    except Conflict as problem:
        problem.details["field"] = f"pools.{name}.{problem.details['field']}"
        raise


def compare(
    load: Workload,
    before: Setup,
    after: Setup | None,
    *,
    progress: Progress = lambda _part: None,
    most_s: float | None = None,
) -> Comparison:
    """Simulate a workload under one configuration, or two side by side.

    `progress` gets the finished part now and then, in this thread. Raises TooLong after `most_s`
    seconds, and the errors of the simulation; the scratch stores are gone by then.
    """
    setups = [before] if after is None else [before, after]
    parts = [0.0] * len(setups)
    stop = Event()
    deadline = None if most_s is None else monotonic() + most_s
    with ThreadPoolExecutor(len(setups)) as pool:
        futures = [
            pool.submit(_simulated, load, setup, _reporter(parts, n, stop))
            for n, setup in enumerate(setups)
        ]
        try:
            _watch(futures, parts, progress, deadline)
        finally:
            stop.set()
    outcomes = [outcome(load, future.result()) for future in futures]
    return Comparison(load, outcomes[0], outcomes[1] if after else None, step_of(load.until_ms))


def _watch(
    futures: Sequence["Future[list[int | None]]"],
    parts: Sequence[float],
    progress: Progress,
    deadline: float | None,
) -> None:
    while deadline is None or monotonic() <= deadline:
        done, rest = wait(futures, LOOK_S, FIRST_EXCEPTION)
        for future in done:
            future.result()
        if not rest:
            return
        progress(sum(parts) / len(parts))
    raise TooLong


def _reporter(parts: list[float], n: int, stop: Event) -> Progress:
    def report(part: float) -> None:
        parts[n] = part
        if stop.is_set():
            raise TooLong

    return report


def _simulated(load: Workload, setup: Setup, progress: Progress) -> list[int | None]:
    load = replace(load, workers=setup.workers)
    with scratch() as opened, setup.context():
        pools = replace(setup.pools, version=opened.version)
        with pool_cache.standing(pools):
            return simulate(load, _Store(opened, load, setup), progress=progress)


class _Store:
    """The scratch store as scheduling.domain.simulation.Store."""

    def __init__(self, opened: Scratch, load: Workload, setup: Setup) -> None:
        """Configure it."""
        self._opened, self._load = opened, load
        self.set_time(0)
        opened.configure(setup.queues)
        keys = dict(setup.limits.values())
        ids = opened.limit(keys)
        self._limits = {live: ids[key] for live, (key, _) in setup.limits.items()}
        opened.override(setup.overrides)
        self._lanes: dict[LaneKey, LaneKey] = {}

    def set_time(self, ms: int) -> None:
        self._opened.set_clock(BEGINNING + timedelta(milliseconds=ms))

    def enqueue(self, numbers: Sequence[int]) -> None:
        arrivals = self._load.arrivals
        self._opened.enqueue([ScratchJob(n, self._lane(arrivals[n].lane)) for n in numbers])

    def _lane(self, lane: LaneKey) -> LaneKey:
        if not lane.limits:
            return lane
        if lane not in self._lanes:
            own = sorted(self._limits[limit] for limit in lane.limits if limit in self._limits)
            self._lanes[lane] = lane._replace(limits=tuple(own))
        return self._lanes[lane]

    def claim(self, workers: Workers, count: int) -> tuple[list[int], int | None]:
        return self._opened.claim(
            FetchRequest(workers.queues, count, worker_id=workers.name, pool=workers.pool)
        )

    def complete(self, numbers: Sequence[int]) -> None:
        self._opened.complete(numbers)

    def waits(self, jobs: Mapping[str, int]) -> None:
        self._opened.analyze()
        if any(number >= COUNTED for number in jobs.values()):
            self._opened.set_depths(jobs)
