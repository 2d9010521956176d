"""The paths that are measured: what the server does, and the SQL that limits it."""

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import pgbench, requests
from bench.cpu import metered
from bench.dataset import Dataset
from bench.load import Cycle, Measured, drive
from bench.stack import Stack, StackError
from bench.statements import complete, text

WORKER_PROCESSES = 2
WARM_JOBS = 2000  # ended before a worker counts as started
HELD_S = 20.0


@dataclass(frozen=True, slots=True)
class Target:
    """One server with its data; `client` is the process that sends requests."""

    stack: Stack
    dataset: Dataset
    client: ProcessPoolExecutor
    folder: Path


Slice = Callable[[Target, int, float], Measured]  # of clients, for seconds


@dataclass(frozen=True, slots=True)
class BenchPath:
    """One row of the table of bars; `needed` waiting jobs per second keep it busy."""

    name: str
    title: str
    bar: float | None
    serve: Slice
    limit: Slice
    needed: int = 0
    stores: bool = False  # what it stores is taken back after each slice
    is_http: bool = True
    is_repeated: bool = True  # in slices; False: once, for as long as it takes


def _http(make: Callable[[str], Callable[[], Cycle]], target: Target, clients: int,
          seconds: float) -> Measured:  # fmt: skip
    cycle = make(target.stack.key)
    with metered() as meter:
        measured = target.client.submit(drive, target.stack.port, cycle, clients, seconds).result()
    measured.cpu_s = meter.seconds
    return measured


def _inserts(rows: int, target: Target, clients: int, seconds: float) -> Measured:
    script = target.folder / f"insert-{rows}.sql"
    script.write_text(text(f"insert_{rows}"))
    with metered() as meter:
        transactions, took = pgbench.run(target.dataset.database, script, clients, seconds)
    return Measured(transactions * rows, took, cpu_s=meter.seconds)


def _cycles(batch: int, target: Target, clients: int, seconds: float) -> Measured:
    script = target.folder / f"cycle-{batch}.sql"
    script.write_text(text("cycle", count=batch, complete=complete()))
    before = target.dataset.unfinished()
    with metered() as meter:
        _, took = pgbench.run(target.dataset.database, script, clients, seconds)
    return Measured(before - target.dataset.unfinished(), took, cpu_s=meter.seconds)


def _worker(target: Target, _clients: int, seconds: float, *, one_by_one: bool) -> Measured:
    process = target.stack.begin_worker(WORKER_PROCESSES, one_by_one=one_by_one)
    try:
        _wait_until_warm(target.dataset, process)
        began, before = time.perf_counter(), target.dataset.unfinished()
        with metered() as meter:
            time.sleep(seconds)
        after, took = target.dataset.unfinished(), time.perf_counter() - began
    finally:
        target.stack.end(process)
    return Measured(before - after, took, cpu_s=meter.seconds)


def _wait_until_warm(dataset: Dataset, process: "subprocess.Popen[bytes]") -> None:
    first = dataset.unfinished()
    while first - dataset.unfinished() < WARM_JOBS:
        if process.poll() is not None:
            raise StackError("the worker ended by itself")
        time.sleep(0.1)


def _under_snapshot(batch: int, target: Target, clients: int, seconds: float) -> Measured:
    serve = partial(_http, partial(requests.claim, batch))
    with target.dataset.database.connect() as holder:
        holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM ojs_queue")
        serve(target, clients, HELD_S)
        return serve(target, clients, seconds)


def _claims(batch: int) -> Slice:
    return partial(_http, partial(requests.claim, batch))


def _enqueues(batch: int) -> Slice:
    return partial(_http, partial(requests.enqueue, batch))


PATHS = (
    BenchPath(
        "enqueue", "enqueue 1 per request", 0.15, _enqueues(1), partial(_inserts, 1), stores=True
    ),
    BenchPath(
        "batch", "enqueue 100 per request", 0.15, _enqueues(100), partial(_inserts, 100),
        stores=True,
    ),
    BenchPath(
        "fetch", "fetch 1 + ack 1", 0.30, _claims(1), partial(_cycles, 1), needed=10_000
    ),
    BenchPath(
        "fetch50", "fetch 50 + batch ack", 0.60, _claims(50), partial(_cycles, 50), needed=50_000
    ),
    BenchPath(
        "runworker", "runworker, 2 processes", 1.00, partial(_worker, one_by_one=False),
        partial(_cycles, 50), needed=80_000, is_http=False,
    ),
    BenchPath(
        "runworker1", "runworker, not idempotent", None, partial(_worker, one_by_one=True),
        partial(_cycles, 50), needed=80_000, is_http=False,
    ),
    BenchPath(
        "snapshot", "fetch 1 + ack 1, snapshot held", 0.80, partial(_under_snapshot, 1),
        _claims(1), needed=30_000, is_repeated=False,
    ),
    BenchPath(
        "snapshot50", "fetch 50 + batch ack, snapshot held", 0.80, partial(_under_snapshot, 50),
        _claims(50), needed=300_000, is_repeated=False,
    ),
)  # fmt: skip
