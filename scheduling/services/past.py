"""Build a workload from the recent past."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from jobs.domain.errors import Unprocessable
from jobs.models import Worker
from jobs.services.read.clock import now
from jobs.services.record.runs import PastRun, runs_since
from scheduling.domain.workload import LONGEST_MS, Arrival, Workers, Workload
from scheduling.services.pool_cache import Pools

MS: Final = timedelta(milliseconds=1)
RUN_MS: Final = 1000  # if no run has a length
NOBODY: Final = ""  # stands for workers without an id


def past(minutes: int, most: int, pools: Pools) -> Workload:
    """Return the jobs that ran in the last minutes or wait, and the workers that ran them.

    Raises Unprocessable if no job ran or waits, or if no worker is found.
    """
    if not 1 <= minutes <= LONGEST_MS // 60_000:
        raise Unprocessable.field("minutes", f"must be from 1 to {LONGEST_MS // 60_000}", minutes)
    end = now()
    begin = end - timedelta(minutes=minutes)
    runs, is_cut = runs_since(begin, most)
    notes = []
    if is_cut:
        begin = min((run.started_at for run in runs if run.started_at), default=begin)
        notes.append(f"only the latest {most} jobs are simulated")
    if not runs:
        raise Unprocessable.field("minutes", "hold no job that started, and none waits", minutes)
    workers = _workers([run for run in runs if run.started_at], end, pools)
    if not workers:
        raise Unprocessable.field(
            "minutes", "hold no start of a job, so the simulation has no workers", minutes
        )
    arrivals, unknown = _arrivals(runs, begin)
    if unknown:
        notes.append(f"{unknown} unfinished jobs get the run time of other jobs of their queue")
    until_ms = max(1, (end - begin) // MS)
    return Workload(arrivals, workers, until_ms, tuple(notes))


def _arrivals(runs: Sequence[PastRun], begin: datetime) -> tuple[list[Arrival], int]:
    lengths = [_length(run) for run in runs]
    times: defaultdict[str, list[int]] = defaultdict(list)
    for run, ms in zip(runs, lengths, strict=True):
        if ms is not None:
            times[run.lane.queue].append(ms)
    every = [ms for listed in times.values() for ms in listed]
    usual = {queue: int(median(listed)) for queue, listed in times.items()}
    rest = int(median(every)) if every else RUN_MS
    found = [
        Arrival(
            (run.arrived_at - begin) // MS,
            run.lane,
            usual.get(run.lane.queue, rest) if ms is None else ms,
        )
        for run, ms in zip(runs, lengths, strict=True)
    ]
    return sorted(found), lengths.count(None)


def _length(run: PastRun) -> int | None:
    if run.started_at is None or run.ended_at is None:
        return None
    return max(1, (run.ended_at - run.started_at) // MS)


def _workers(runs: Sequence[PastRun], end: datetime, pools: Pools) -> tuple[Workers, ...]:
    """Group the workers of these runs by pool and queues."""
    by_worker: defaultdict[str, list[PastRun]] = defaultdict(list)
    for run in runs:
        by_worker[run.worker_id or NOBODY].append(run)
    workers = {row.id: row for row in Worker.objects.filter(id__in=[n for n in by_worker if n])}
    slots: Counter[tuple[str | None, tuple[str, ...]]] = Counter()
    for name, own in by_worker.items():
        row = workers.get(name)
        pool = row.pool if row else None
        queues = _queues(row, own, pools, pool)
        slots[pool, queues] += max(_most_at_once(own, end), (row and row.concurrency) or 0)
    return tuple(
        Workers(f"workers-{n}", number, queues, pool)
        for n, ((pool, queues), number) in enumerate(sorted(slots.items(), key=repr))
    )


def _queues(
    row: Worker | None, runs: Iterable[PastRun], pools: Pools, pool: str | None
) -> tuple[str, ...]:
    """Return the queues that a worker fetches from; empty: the queues of its pool."""
    said = row.queues if row and isinstance(row.queues, list) else None
    queues = list(said) if said else sorted({run.lane.queue for run in runs})
    governing = pools.governing(pool)
    if governing is not None and (not said or set(queues) >= set(governing.queues)):
        return ()
    return tuple(queues)


def _most_at_once(runs: Iterable[PastRun], end: datetime) -> int:
    """Return the largest number of these runs at the same time."""
    moments = [(run.started_at, 1) for run in runs if run.started_at]
    moments += [(run.ended_at or end, -1) for run in runs if run.started_at]
    running = most = 0
    for _, change in sorted(moments):  # ends before starts of the same moment
        running += change
        most = max(most, running)
    return most
