"""Samples of a running server: memory, sizes, jobs and latencies."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg

from bench.faults.arena import Arena
from bench.faults.load import Load
from bench.memory import KIB_PER_MIB, Peaks

PROBED: Final = "probe"  # queue of the jobs whose times are measured
PAUSE_S: Final = 0.2
GIVE_UP_S: Final = 30.0
MIB: Final = KIB_PER_MIB * KIB_PER_MIB
SIZES: LiteralString = """
SELECT sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint
  FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
JOBS: LiteralString = """
SELECT count(*), count(*) FILTER (WHERE state IS NULL) FROM ojs_job
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a server: `minute` since the start, MiB, jobs, milliseconds."""

    minute: float
    memory: dict[str, float]  # of the largest process of each role
    tables: float
    indexes: float
    jobs: int
    live: int
    enqueue: tuple[float, float]  # median and p99
    start: tuple[float, float]  # from the request that stores a job to the answer that has it


class Probe:
    """A thread that stores a job, fetches it and acknowledges it, again and again."""

    def __init__(self, load: Load) -> None:
        """Start."""
        self._full = threading.Event()  # no further job is stored
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._enqueues: list[float] = []
        self._starts: list[float] = []
        self._thread = load.start(self._run, load)

    def end_producer(self) -> None:
        """Store no further job; the jobs that are left go on."""
        self._full.set()

    def stop(self) -> None:
        """End after the current job."""
        self._over.set()
        self._thread.join()

    def window(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return median and p99 of both times since the last call."""
        with self._lock:
            enqueues, starts = self._enqueues, self._starts
            self._enqueues, self._starts = [], []
        return middle_and_p99(enqueues), middle_and_p99(starts)

    def _run(self, load: Load) -> None:
        client = load.client()
        while not self._full.is_set() and not self._over.wait(PAUSE_S):
            began = time.monotonic()
            client.enqueue(PROBED)
            stored = time.monotonic()
            while not (ids := client.fetch(PROBED, "probe", 1)):
                if time.monotonic() - stored > GIVE_UP_S:
                    break
            found = time.monotonic()
            for job_id in ids:
                client.ack(job_id, "probe")
            with self._lock:
                self._enqueues.append((stored - began) * 1e3)
                self._starts.append((found - began) * 1e3)
        while not self._over.wait(PAUSE_S):  # jobs that outages left behind
            for job_id in client.fetch(PROBED, "probe", 1):
                client.ack(job_id, "probe")


def middle_and_p99(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile, 0 without values."""
    ordered = sorted(values) or [0.0]
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def sample(arena: Arena, probe: Probe, began: float) -> Sample | None:
    """Look at a server; None while its database is away."""
    try:
        (tables, indexes), (jobs, live) = arena.rows(SIZES)[0], arena.rows(JOBS)[0]
    except psycopg.OperationalError:
        return None
    peaks = Peaks()
    peaks.look()
    memory = {role: peaks.of(role)[0].rss_mib for role in peaks.roles()}
    enqueue, start = probe.window()
    minute = (time.monotonic() - began) / 60
    return Sample(minute, memory, tables / MIB, indexes / MIB, jobs, live, enqueue, start)
