"""Replay a workload in virtual time: compute when jobs arrive, start and end.

The module is arithmetic and a store. Time goes in steps. The store learns of the arrivals and ends
of a step at the step's end, and free slots are filled there, repeatedly while jobs end within it.

Start and end of each job are computed exactly. A job starts when its slot is free, the job has
arrived and the step before is over. So no slot stands idle because of a step, and the error of a
wait is less than one step.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, Protocol

from scheduling.domain.workload import Arrival, Workers, Workload

STEPS: Final = 5_000  # of a simulation, about
SHORTEST_MS, LONGEST_MS = 10, 1000  # of a step


class Store(Protocol):
    """The store of waiting jobs; numbers are positions in `Workload.arrivals`."""

    def set_time(self, ms: int) -> None:
        """Set the clock to so many ms after the beginning."""

    def enqueue(self, numbers: Sequence[int]) -> None:
        """Store jobs that arrive."""

    def claim(self, workers: Workers, count: int) -> tuple[list[int], int | None]:
        """Hand out jobs; also return in how many ms a limit opens by itself (None: never)."""

    def complete(self, numbers: Sequence[int]) -> None:
        """End jobs."""

    def waits(self, jobs: Mapping[str, int]) -> None:
        """Receive the number of waiting jobs by queue; called now and then."""


class TooLong(Exception):
    """The caller aborted the simulation."""


def step_of(until_ms: int) -> int:
    """Return the length of a step for a simulation of this length."""
    return min(max(until_ms // STEPS, SHORTEST_MS), LONGEST_MS)


@dataclass(slots=True)
class _Group:
    workers: Workers
    free: list[float]  # a heap: since when each idle slot has been free
    is_stuck: bool = False  # got less than it asked for, and nothing has changed since


@dataclass(slots=True)
class _Run:
    """A simulation in progress."""

    load: Workload
    store: Store
    step_ms: int
    starts: list[int | None]
    groups: list[_Group]
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # heap: time, number, group
    waiting: dict[str, int] = field(default_factory=dict)  # by queue
    arrived: int = 0
    opens_at: int | None = None  # a limit opens by itself then
    ended: deque[int] = field(default_factory=deque)  # end times of jobs that just made room


def simulate(
    load: Workload,
    store: Store,
    *,
    step_ms: int | None = None,
    progress: Callable[[float], None] = lambda _part: None,
) -> list[int | None]:
    """Return when each job starts, in ms from the beginning; None: not before the end.

    `progress` gets the finished part and may raise TooLong.
    """
    groups = [_Group(one, [0.0] * one.slots) for one in load.workers]
    run = _Run(load, store, step_ms or step_of(load.until_ms), [None] * len(load.arrivals), groups)
    _arrive_before(run)
    now: int | None = 0
    rounds = 0
    while now is not None and now <= load.until_ms:
        store.set_time(now)
        _step(run, now, rounds)
        rounds += 1
        progress(now / load.until_ms)
        now = _next(run, now)
    return run.starts


def _arrive_before(run: _Run) -> None:
    """Enqueue the jobs that arrived before the beginning, each at its own time, to the second."""
    arrivals = run.load.arrivals
    while run.arrived < len(arrivals) and arrivals[run.arrived].at_ms < 0:
        at = arrivals[run.arrived].at_ms
        second = at - at % -1000 if at % 1000 else at
        run.store.set_time(min(second, 0))
        _arrive(run, min(second, -1))


def _step(run: _Run, now: int, rounds: int) -> None:
    _arrive(run, now)
    if run.opens_at is not None and run.opens_at <= now:
        run.opens_at = None
        _unstick(run)
    if rounds % 100 == 0:
        run.store.waits(run.waiting)
    while True:
        run.ended.clear()
        _end(run, now)
        # rotate the first group, so that no group always has the first choice of the queues
        for n in range(len(run.groups)):
            at = (n + rounds) % len(run.groups)
            _fill(run, at, now)
        if not run.ends or run.ends[0][0] > now:
            return


def _arrive(run: _Run, now: int) -> None:
    first, arrivals = run.arrived, run.load.arrivals
    while run.arrived < len(arrivals) and arrivals[run.arrived].at_ms <= now:
        queue = arrivals[run.arrived].lane.queue
        run.waiting[queue] = run.waiting.get(queue, 0) + 1
        run.arrived += 1
    if run.arrived > first:
        run.store.enqueue(range(first, run.arrived))
        _unstick(run)


def _unstick(run: _Run) -> None:
    for group in run.groups:
        group.is_stuck = False


def _end(run: _Run, now: int) -> None:
    done, ended = [], []
    while run.ends and run.ends[0][0] <= now:
        at, number, group = heappop(run.ends)
        heappush(run.groups[group].free, at)
        done.append(number)
        ended.append(at)
    if done:
        run.store.complete(done)
        run.ended = deque(ended)
        _unstick(run)


def _fill(run: _Run, at: int, now: int) -> None:
    group = run.groups[at]
    free = len(group.free)
    if not free or group.is_stuck or not any(run.waiting.values()):
        return
    numbers, opens_ms = run.store.claim(group.workers, free)
    group.is_stuck = len(numbers) < free
    if opens_ms is not None:
        opens_at = now + max(1, opens_ms)
        run.opens_at = min(run.opens_at or opens_at, opens_at)
    for number in numbers:
        _start(run, number, at, now)


def _start(run: _Run, number: int, at: int, now: int) -> None:
    job: Arrival = run.load.arrivals[number]
    start = max(int(heappop(run.groups[at].free)), job.at_ms)
    if start <= now - run.step_ms:
        # job and slot were there before, so the end of a job or a limit's window held it back
        start = run.ended.popleft() if run.ended else now
    run.starts[number] = start
    run.waiting[job.lane.queue] -= 1
    heappush(run.ends, (start + max(1, job.run_ms), number, at))


def _next(run: _Run, now: int) -> int | None:
    """Return the end of the next step in which something happens; None: nothing more does."""
    coming = [run.ends[0][0]] if run.ends else []
    if run.arrived < len(run.load.arrivals):
        coming.append(run.load.arrivals[run.arrived].at_ms)
    if run.opens_at is not None and any(run.waiting.values()):
        coming.append(run.opens_at)
    if not coming:
        return None
    return max(now + 1, -(-min(coming) // run.step_ms) * run.step_ms)
