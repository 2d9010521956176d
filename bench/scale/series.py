"""The series: what grows, the points that take turns, and the measured paths."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.scale import pooler
from bench.scale.loads import BEHIND, CYCLE, ENQUEUE, FETCH, FETCH50, GET, LIST
from bench.scale.measure import Load, Point
from bench.scale.rig import Rig

CLIENTS = 8
BACKLOG = 100_000  # where its size does not matter
TENANTS = 10
HTTP_CLIENTS = 32

HTTP = (1, 2, 4, 8)
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
LANES = (10, 100, 1_000, 10_000)
FINISHED = (0, 100_000, 1_000_000, 10_000_000)
WAITING = (10_000, 100_000, 1_000_000, 5_000_000)


@dataclass(frozen=True, slots=True)
class Series:
    """One picture: `points` starts the servers of the points, the base first."""

    name: str
    title: str
    axis: str
    loads: Sequence[Load]
    points: Callable[[Rig, float], list[Point]]  # of a share of the jobs, for a short run
    seconds: float = 1.0  # of a slice, as a share of the usual length


def _http(rig: Rig, _share: float) -> list[Point]:
    place = rig.place("http", available=BACKLOG, lanes=TENANTS)
    return [rig.point(str(n), place, HTTP_CLIENTS, processes=n) for n in HTTP]


def _connections(rig: Rig, _share: float) -> list[Point]:
    place = rig.place("connections", available=BACKLOG, lanes=TENANTS)
    port, http = place.stack.begin_server()
    pids = [http.pid, place.loops.pid]
    return [rig.again(str(n), place, n, port, pids) for n in CONNECTIONS]


def _lanes(rig: Rig, _share: float) -> list[Point]:
    return [
        rig.point(f"{n:,}", rig.place(f"lanes_{n}", available=BACKLOG, lanes=n), CLIENTS)
        for n in LANES
    ]


def _finished(rig: Rig, share: float) -> list[Point]:
    sizes = [round(n * share) for n in FINISHED]
    return [
        rig.point(f"{n:,}", rig.place(f"finished_{n}", finished=n, lanes=TENANTS), CLIENTS)
        for n in sizes
    ]


def _waiting(rig: Rig, share: float) -> list[Point]:
    sizes = [round(n * share) if n > WAITING[0] else n for n in WAITING]
    return [
        rig.point(f"{n:,}", rig.place(f"waiting_{n}", available=n, lanes=1), CLIENTS) for n in sizes
    ]


def _pooler(rig: Rig, _share: float) -> list[Point]:
    return pooler.points(rig, rig.place("pooler", available=BACKLOG, lanes=TENANTS), CLIENTS)


ALL = (
    Series("http", "HTTP processes, 32 connections", "HTTP processes",
           (ENQUEUE, CYCLE, FETCH50, GET), _http),
    Series("connections", "Connections that send requests, 2 HTTP processes", "connections",
           (ENQUEUE, FETCH, FETCH50), _connections),
    Series("lanes", "Tenants of one queue, 8 connections", "tenants (lanes) with waiting jobs",
           (FETCH, FETCH50), _lanes),
    Series("finished", "Ended jobs, 8 connections", "ended jobs",
           (ENQUEUE, CYCLE, GET, LIST), _finished),
    Series("waiting", "Available jobs of one queue, 8 connections", "available jobs",
           (BEHIND, FETCH, FETCH50), _waiting, seconds=0.5),
    Series("pooler", "PgBouncer in transaction mode, 8 connections", "connection to PostgreSQL",
           (ENQUEUE, CYCLE, FETCH50, GET), _pooler),
)  # fmt: skip
NAMES = tuple(one.name for one in ALL)
