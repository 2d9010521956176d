"""python -m bench.scale.capacity: the cost of a job on each path, and the disk of stored jobs.

CPU, database connections, WAL, memory and disk of a server with default settings. The paths take
turns, slice by slice. See docs/scaling.md.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Final

from bench import requests
from bench.against import usage
from bench.database import Database
from bench.folder import work_folder
from bench.load import Cycle, drive
from bench.memory import Usage
from bench.names import CLAIMED
from bench.scale.measure import WARM_S, Point, joined
from bench.scale.rig import CLUSTER, ROLE, Place, Rig
from bench.scale.table import row
from bench.stack import Process, StackError
from ojs_project.postgres import Cluster

CLIENTS: Final = 8
BACKLOG: Final = 200_000
TENANTS: Final = 10
WARM_JOBS: Final = 2_000  # ended before a worker counts as started
STORED: Final = 200_000  # jobs whose disk is measured
BATCH: Final = 100
THREADS: Final = 50
STEP_S: Final = 0.1
PARTS: Final = ("HTTP", "PostgreSQL", "worker", "loops")
LARGEST: Final = 4  # tables that are named
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
SIZES = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)
UNENDED = "SELECT count(*) FROM ojs_job WHERE state IS NULL"


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of a server at one time: CPU seconds by part, bytes of WAL."""

    cpu: usage.Seconds
    wal: int


@dataclass(slots=True)
class Cost:
    """The sums of all slices of a path."""

    title: str
    jobs: int = 0
    cpu: usage.Seconds = field(default_factory=dict)
    wal: int = 0
    rates: list[float] = field(default_factory=list)
    sessions: int = 0

    def add(self, jobs: int, seconds: float, before: Look, after: Look) -> None:
        """Add one slice."""
        self.jobs += jobs
        self.cpu = usage.total([self.cpu, joined(usage.difference(after.cpu, before.cpu))])
        self.wal += after.wal - before.wal
        self.rates.append(jobs / seconds)

    def cells(self) -> list[str]:
        """Return the row: cores at 1,000 jobs/s by part, connections, KB of WAL for each job."""
        jobs = max(1, self.jobs)
        cores = {part: seconds / jobs * 1e3 for part, seconds in self.cpu.items()}
        return [
            self.title, f"{median(self.rates):,.0f}", f"{sum(cores.values()):.2f}",
            *(f"{cores.get(part, 0.0):.2f}" for part in PARTS),
            str(self.sessions), f"{self.wal / jobs / 1e3:.2f}",
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    """A running server with its data."""

    place: Place
    point: Point

    @property
    def database(self) -> Database:
        """The database, reached as the superuser."""
        return self.place.dataset.database

    def look(self, *workers: Process) -> Look:
        """Read the counters; `workers` count as well."""
        cpu = usage.total([self.point.cpu(), *(usage.of_server(one.pid) for one in workers)])
        return Look(cpu, self.database.number(WAL))


Path = Callable[[Server, Cost, float], None]


def _by_requests(
    cycle: Callable[[str], Callable[[], Cycle]], server: Server, cost: Cost, seconds: float
) -> None:
    looks: list[Look] = []
    measured = drive(
        server.point.port, cycle(server.point.key), CLIENTS, seconds,
        warm_s=WARM_S, look=lambda: looks.append(server.look()),
    )  # fmt: skip
    cost.add(measured.jobs, measured.seconds, looks[0], looks[1])


def _by_worker(server: Server, cost: Cost, seconds: float) -> None:
    worker, dataset = (
        server.place.stack.begin_worker(CLAIMED, processes=1, threads=THREADS),
        server.place.dataset,
    )
    try:
        first = dataset.unfinished()
        _wait_until(lambda: first - dataset.unfinished() >= WARM_JOBS, worker)
        waiting, began, before = dataset.unfinished(), time.perf_counter(), server.look(worker)
        time.sleep(seconds)
        took, after = time.perf_counter() - began, server.look(worker)
        cost.add(waiting - dataset.unfinished(), took, before, after)
        server.place.stack.peaks.look()
    finally:
        server.place.stack.end(worker)


def _wait_until(is_so: Callable[[], bool], worker: Process) -> None:
    while not is_so():
        if worker.poll() is not None:
            raise StackError("the worker ended by itself")
        time.sleep(STEP_S)


PATHS: Final[dict[str, Path]] = {
    "`POST /jobs`": partial(_by_requests, partial(requests.enqueue, 1)),
    "`POST /jobs/batch` of 100": partial(_by_requests, partial(requests.enqueue, BATCH)),
    "FETCH of 1, ACK": partial(_by_requests, partial(requests.claim, 1)),
    "FETCH of 50, batch of ACKs": partial(_by_requests, partial(requests.claim, 50)),
    "enqueue, FETCH of 1, ACK": partial(_by_requests, requests.cycle),
    "`runworker`, no-op handlers": _by_worker,
}


def main() -> int:
    """Measure, and print three tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.capacity", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one slice")
    parser.add_argument("--rounds", type=int, default=5, help="slices of each path")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with ExitStack() as ends:
        folder = ends.enter_context(work_folder("ojs-capacity-"))
        cluster = ends.enter_context(Cluster(folder / "cluster", CLUSTER))
        Database("postgres", cluster.sockets).run(f"CREATE ROLE {ROLE} LOGIN")
        rig = Rig(cluster, folder, ends)
        place = rig.place("capacity", available=BACKLOG, lanes=TENANTS)
        server = Server(place, rig.point("", place, CLIENTS))
        print(*_paths(server, options), "", *_memory(server), "", *_disk(server), sep="\n")
    return 0


def _paths(server: Server, options: argparse.Namespace) -> Iterator[str]:
    costs = {title: Cost(title) for title in PATHS}
    for _ in range(options.rounds):
        for title, measure in PATHS.items():
            server.point.ready()
            measure(server, costs[title], options.seconds)
            costs[title].sessions = max(costs[title].sessions, server.database.number(SESSIONS))
    head = [
        "path",
        "jobs/s here",
        "cores at 1,000 jobs/s",
        *PARTS,
        "connections",
        "WAL, KB per job",
    ]
    yield row(head)
    yield row(["---", *["---:"] * (len(head) - 1)])
    yield from (row(cost.cells()) for cost in costs.values())


def _memory(server: Server) -> Iterator[str]:
    server.place.stack.peaks.look()
    yield row(["processes", "number", "largest, MiB", "all together, MiB"])
    yield row(["---", "---:", "---:", "---:"])
    for role in server.place.stack.peaks.roles():
        found = server.place.stack.peaks.of(role)
        yield row(
            [role, str(len(found)), f"{found[0].rss_mib:.0f}", f"{sum(map(_own, found)):.0f}"]
        )


def _own(usage_: Usage) -> float:
    return usage_.rss_mib if usage_.pss_mib is None else usage_.pss_mib


def _disk(server: Server) -> Iterator[str]:
    """Store and end jobs in an emptied database; yield how its tables grow for each million."""
    server.place.dataset.refill(0)
    server.database.run("VACUUM FULL")
    before, wal = _sizes(server), server.database.number(WAL)
    cycle = requests.enqueue(BATCH, server.point.key, queue=CLAIMED)
    for _ in range(STORED // BATCH // CLIENTS):
        drive(server.point.port, cycle, CLIENTS, 0.0)
    stored = server.database.number("SELECT count(*) FROM ojs_job")
    live = _grown(before, _sizes(server), stored)
    worker = server.place.stack.begin_worker(CLAIMED, processes=1, threads=THREADS)
    try:
        _wait_until(lambda: server.database.number(UNENDED) == 0, worker)
    finally:
        server.place.stack.end(worker)
    server.database.run("VACUUM")
    ended = _grown(before, _sizes(server), stored)
    wal = server.database.number(WAL) - wal
    yield row(
        ["table, with indexes", "MB for 1,000,000 waiting jobs", "MB for 1,000,000 ended jobs"]
    )
    yield row(["---", "---:", "---:"])
    for name in sorted(ended, key=lambda name: -ended[name] - live[name])[:LARGEST]:
        yield row([f"`{name}`", f"{live[name]:,.0f}", f"{ended[name]:,.0f}"])
    yield row(["all tables", f"{sum(live.values()):,.0f}", f"{sum(ended.values()):,.0f}"])
    yield row(["WAL of their whole life", "", f"{wal / stored:,.0f}"])


def _sizes(server: Server) -> dict[str, int]:
    with server.database.connect() as connection:
        return dict(connection.execute(SIZES).fetchall())


def _grown(before: dict[str, int], after: dict[str, int], jobs: int) -> dict[str, float]:
    """Return the growth by table: bytes per job are MB per million jobs."""
    return {name: (size - before.get(name, 0)) / jobs for name, size in after.items()}


if __name__ == "__main__":
    sys.exit(main())
