"""The measured paths: the action of the server, and its comparison."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import pgbench, requests, saves, streams
from bench.backlogs import DUE, OUTLIVED, Backlog
from bench.cpu import metered
from bench.database import Database
from bench.dataset import Dataset
from bench.load import Client, Cycle, Measured
from bench.names import CLAIMED, COUNTING_ENGINE, PLAIN_ENGINE
from bench.stack import Process, Stack, StackError
from bench.statements import claim, complete, text

WORKER_PROCESSES = 2
WORKER_CONNECTIONS = 4  # each process has one to claim and one to acknowledge
GROUP = 1000  # members of a workflow
WARM_JOBS = 2000  # ended before a worker counts as started


@dataclass(frozen=True, slots=True)
class Target:
    """One server with its data, and the processes that send requests."""

    stack: Stack
    dataset: Dataset
    client: Client
    folder: Path


Slice = Callable[[Target, int, float], Measured]  # of clients, for seconds


@dataclass(frozen=True, slots=True)
class BenchPath:
    """One row of the table; `needed` waiting jobs per second keep it busy."""

    name: str
    title: str
    bar: float | None  # of the ratio serve / limit
    serve: Slice
    limit: Slice
    against: str = "SQL"
    least: float = 0.0  # additional bar in jobs per second
    needed: int = 0
    stores: bool = False  # its stored rows are removed after each slice
    is_http: bool = True
    at_all_clients: bool = True
    on_all_datasets: bool = True
    holds_snapshot: bool = False  # `serve` runs during a held snapshot, `limit` before and after


def _http(
    make: Callable[[str], Callable[[], Cycle]],
    target: Target,
    clients: int,
    seconds: float,
    *,
    engine: str = "",
) -> Measured:
    port = target.stack.port_with(engine) if engine else target.stack.port
    with metered() as meter:
        measured = target.client.drive(port, make(target.stack.key), clients, seconds)
    measured.cpu_s = meter.seconds
    return measured


def _inserts(rows: int, target: Target, clients: int, seconds: float) -> Measured:
    script = target.folder / f"insert-{rows}.sql"
    script.write_text(text(f"insert_{rows}"))
    with metered() as meter:
        transactions, took = pgbench.run(target.dataset.database, script, clients, seconds)
    return Measured(transactions * rows, took, cpu_s=meter.seconds)


def _cycles(
    batch: int, target: Target, clients: int, seconds: float, *, connections: int = 0
) -> Measured:
    script = target.folder / f"cycle-{batch}.sql"
    script.write_text(text("cycle", claim=claim(batch), complete=complete()))
    before = target.dataset.unfinished()
    with metered() as meter:
        _, took = pgbench.run(target.dataset.database, script, connections or clients, seconds)
    return Measured(before - target.dataset.unfinished(), took, cpu_s=meter.seconds)


def _worker(
    target: Target, _clients: int, seconds: float, *, threads: int, one_by_one: bool = False
) -> Measured:
    worker = target.stack.begin_worker(
        CLAIMED, processes=WORKER_PROCESSES, threads=threads, one_by_one=one_by_one
    )
    try:
        _wait_until_warm(target.dataset, worker)
        began, before = time.perf_counter(), target.dataset.unfinished()
        with metered() as meter:
            time.sleep(seconds)
        took, after = time.perf_counter() - began, target.dataset.unfinished()
    finally:
        target.stack.end(worker)
    return Measured(before - after, took, cpu_s=meter.seconds)


def _wait_until_warm(dataset: Dataset, worker: Process) -> None:
    first = dataset.unfinished()
    while first - dataset.unfinished() < WARM_JOBS:
        if worker.poll() is not None:
            raise StackError("the worker ended by itself")
        time.sleep(0.1)


def _enqueues(batch: int, engine: str = "") -> Slice:
    return partial(_http, partial(requests.enqueue, batch), engine=engine)


def _claims(batch: int, engine: str = "") -> Slice:
    return partial(_http, partial(requests.claim, batch), engine=engine)


def _by_loops(backlog: Backlog, target: Target, _clients: int, seconds: float) -> Measured:
    return backlog.by_loops(target.dataset.database, seconds)


def _plainly(backlog: Backlog, target: Target, _clients: int, seconds: float) -> Measured:
    return backlog.by_pgbench(target.dataset.database, target.folder, seconds)


def _groups(*, plain: bool) -> Slice:
    return partial(_http, partial(requests.group, GROUP, plain=plain))


def _saves(run: Callable[[Database, Path, int, float], Measured]) -> Slice:
    def serve(target: Target, clients: int, seconds: float) -> Measured:
        return run(target.dataset.database, target.folder, clients, seconds)

    return serve


_WORKER_LIMIT = partial(_cycles, 50, connections=WORKER_CONNECTIONS)

PATHS = (
    BenchPath(
        "enqueue", "enqueue 1 per request", 0.15, _enqueues(1), partial(_inserts, 1), stores=True
    ),
    BenchPath(
        "batch", "enqueue 100 per request", 0.15, _enqueues(100), partial(_inserts, 100),
        stores=True,
    ),
    BenchPath(
        "unique", "enqueue 1 with `unique`", None, partial(_http, requests.enqueue_unique),
        _enqueues(1), against="plain", stores=True, at_all_clients=False, on_all_datasets=False,
    ),
    BenchPath("fetch", "fetch 1 + ack 1", 0.30, _claims(1), partial(_cycles, 1), needed=5_000),
    BenchPath(
        "fetch50", "fetch 50 + batch ack", 0.60, _claims(50), partial(_cycles, 50), needed=40_000
    ),
    BenchPath(
        "runworker", "runworker, 2 x 50 threads", 1.00, partial(_worker, threads=50),
        _WORKER_LIMIT, least=20_000, needed=40_000, is_http=False, at_all_clients=False,
    ),
    BenchPath(
        "runworker10", "runworker, 2 x 10 threads", None, partial(_worker, threads=10),
        _WORKER_LIMIT, needed=40_000, is_http=False, at_all_clients=False,
    ),
    BenchPath(
        "runworker1", "runworker, 2 x 50, not idempotent", None,
        partial(_worker, threads=50, one_by_one=True), _WORKER_LIMIT, needed=40_000,
        is_http=False, at_all_clients=False,
    ),
    BenchPath(
        "promote", "promotion of due jobs", 0.40, partial(_by_loops, DUE),
        partial(_plainly, DUE), stores=True, is_http=False, at_all_clients=False,
        on_all_datasets=False,
    ),
    BenchPath(
        "retention", "removal of ended jobs", None, partial(_by_loops, OUTLIVED),
        partial(_plainly, OUTLIVED), least=5_000, stores=True, is_http=False,
        at_all_clients=False, on_all_datasets=False,
    ),
    BenchPath(
        "checkpoint", "save of a checkpoint of 1 KB", 0.40, _saves(saves.by_product),
        _saves(saves.by_update), is_http=False, on_all_datasets=False,
    ),
    BenchPath(
        "workflow", "group of 1,000, stored and completed", None, _groups(plain=False),
        _groups(plain=True), against="plain", stores=True, at_all_clients=False,
        on_all_datasets=False,
    ),
    BenchPath(
        "snapshot", "fetch 1 + ack 1, snapshot held", 0.80, _claims(1), _claims(1),
        against="before", needed=5_000, at_all_clients=False, holds_snapshot=True,
    ),
    BenchPath(
        "snapshot50", "fetch 50 + ack, snapshot held", 0.80, _claims(50), _claims(50),
        against="before", needed=40_000, at_all_clients=False, holds_snapshot=True,
    ),
    BenchPath(
        "sse", "events to each of 200 streams", None, partial(streams.fan_out, 200),
        partial(streams.fan_out, 1), against="one", stores=True, at_all_clients=False,
        on_all_datasets=False,
    ),
    BenchPath(
        "engine-enqueue", "enqueue 1, counting engine", None,
        _enqueues(1, COUNTING_ENGINE), _enqueues(1, PLAIN_ENGINE),
        against="plain", stores=True, at_all_clients=False, on_all_datasets=False,
    ),
    BenchPath(
        "engine-fetch", "fetch 1 + ack 1, counting engine", None,
        _claims(1, COUNTING_ENGINE), _claims(1, PLAIN_ENGINE),
        against="plain", needed=5_000, at_all_clients=False, on_all_datasets=False,
    ),
)  # fmt: skip
