"""Replays a workload in virtual time: when jobs arrive, start and end. Arithmetic and a store.

Time goes in steps. What arrives or ends within a step is told to the store at the step's end, and
free slots are filled there, again and again while jobs end within it. Start and end of each job are
computed exactly: a job starts when its slot is free, it has arrived and the step before is over; so
no slot stands idle for the sake of a step, and waits are wrong by less than one.
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
    """Where jobs wait; numbers are places in `Workload.arrivals`."""

    def set_time(self, ms: int) -> None:
        """Let it be so many ms after the beginning."""

    def enqueue(self, numbers: Sequence[int]) -> None:
        """Let jobs arrive."""

    def claim(self, workers: Workers, count: int) -> tuple[list[int], int | None]:
        """Hand out jobs, and tell in how many ms a limit opens by itself (None: none does)."""

    def complete(self, numbers: Sequence[int]) -> None:
        """End jobs."""

    def waits(self, jobs: Mapping[str, int]) -> None:
        """Hear how many jobs wait by queue; now and then."""


class TooLong(Exception):
    """The caller wants no more of it."""


def step_of(until_ms: int) -> int:
    """Return the length of a step for a simulation that ends then."""
    return min(max(until_ms // STEPS, SHORTEST_MS), LONGEST_MS)


@dataclass(slots=True)
class _Group:
    workers: Workers
    free: list[float]  # a heap: since when each slot that runs nothing has been free
    is_stuck: bool = False  # got less than it asked for, and nothing has changed since


@dataclass(slots=True)
class _Run:
    """A simulation under way."""

    load: Workload
    store: Store
    step_ms: int
    starts: list[int | None]
    groups: list[_Group]
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # heap: when, number, group
    waiting: dict[str, int] = field(default_factory=dict)  # by queue
    arrived: int = 0
    opens_at: int | None = None  # a limit opens by itself then
    ended: deque[int] = field(default_factory=deque)  # when jobs ended that made room just now


def simulate(
    load: Workload,
    store: Store,
    *,
    step_ms: int | None = None,
    progress: Callable[[float], None] = lambda _part: None,
) -> list[int | None]:
    """Return when each job starts, in ms from the beginning; None: not before it is over.

    `progress` hears which part is done and may raise TooLong.
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
    """Let what had arrived before the beginning wait, each since its own time, to the second."""
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
        # another group is first each time, so that none has the pick of the queues
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
        # both were there before, so something else kept it: the end of a job, or a limit's window
        start = run.ended.popleft() if run.ended else now
    run.starts[number] = start
    run.waiting[job.lane.queue] -= 1
    heappush(run.ends, (start + max(1, job.run_ms), number, at))


def _next(run: _Run, now: int) -> int | None:
    """Return the step at whose end something happens next, None: nothing does any more."""
    coming = [run.ends[0][0]] if run.ends else []
    if run.arrived < len(run.load.arrivals):
        coming.append(run.load.arrivals[run.arrived].at_ms)
    if run.opens_at is not None and any(run.waiting.values()):
        coming.append(run.opens_at)
    if not coming:
        return None
    return max(now + 1, -(-min(coming) // run.step_ms) * run.step_ms)
