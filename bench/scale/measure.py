"""Measures the points of a series in turns, so that noise of the machine affects all of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from bench.against import usage
from bench.dataset import Dataset
from bench.load import Cycle, Measured, drive

WARM_S = 0.3  # before each slice: refilled tables have new plans
WRITERS = "PostgreSQL's writers"


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a series: a server, its data, and the number of connections that send."""

    label: str
    port: int
    key: str
    clients: int
    dataset: Dataset
    cpu: Callable[[], usage.Seconds]  # of the server so far, by part
    ready: Callable[[], None]  # bring the data to the size of the point
    ended: Callable[[], Sequence[str]]  # ids of ended jobs


@dataclass(frozen=True, slots=True)
class Load:
    """The requests of one path."""

    title: str
    cycle: Callable[[Point], Callable[[], Cycle]]
    unit: str = "job"  # that rates and CPU are given for


@dataclass(frozen=True, slots=True)
class Slice:
    """The measurement of a point in one turn: jobs per second, jobs, CPU seconds by part."""

    rate: float
    jobs: int
    cpu: usage.Seconds
    client: float = 0.0  # share of a core that the load generator took


@dataclass(slots=True)
class Curve:
    """The slices of one path: a list for each point, in the order of the rounds."""

    title: str
    labels: Sequence[str]
    slices: list[list[Slice]]
    unit: str = "job"

    def cpu_us(self, point: int) -> dict[str, float]:
        """Return CPU microseconds per job by part, over all slices of a point."""
        jobs = sum(one.jobs for one in self.slices[point])
        spent = usage.total(one.cpu for one in self.slices[point])
        return {part: s / jobs * 1e6 for part, s in spent.items() if s and jobs}

    def rate(self, point: int) -> float:
        """Return the median of jobs per second."""
        return median(one.rate for one in self.slices[point])

    def ratios(self, point: int) -> tuple[float, float, float]:
        """Return the median, least and greatest rate relative to the base of the same round."""
        pairs = zip(self.slices[point], self.slices[0], strict=True)
        found = [one.rate / base.rate for one, base in pairs if base.rate] or [0.0]
        return median(found), min(found), max(found)

    def client(self, point: int) -> float:
        """Return the median share of a core that the load generator took."""
        return median(one.client for one in self.slices[point])


def rotation(points: int, rounds: int) -> Iterator[list[int]]:
    """Yield the order of the points in each round.

    A round starts one point later than the round before; after `points` rounds it runs backwards.
    """
    for n in range(rounds):
        order = [(n + k) % points for k in range(points)]
        yield order[::-1] if n // points % 2 else order


def measure(
    points: Sequence[Point], loads: Sequence[Load], rounds: int, seconds: float
) -> list[Curve]:
    """Measure each path on all points in turns."""
    curves = []
    for load in loads:
        labels = [one.label for one in points]
        curve = Curve(load.title, labels, [[] for _ in points], load.unit)
        for order in rotation(len(points), rounds):
            for n in order:
                curve.slices[n].append(_slice(load, points[n], seconds))
        curves.append(curve)
    return curves


def _slice(load: Load, point: Point, seconds: float) -> Slice:
    point.ready()
    cycle = load.cycle(point)
    looks: list[usage.Seconds] = []
    measured = drive(
        point.port, cycle, point.clients, seconds,
        warm_s=WARM_S, look=lambda: looks.append(point.cpu()),
    )  # fmt: skip
    spent = usage.difference(looks[1], looks[0])
    return Slice(measured.rate, measured.jobs, joined(spent), _share(measured))


def joined(cpu: usage.Seconds) -> usage.Seconds:
    """Return the parts with PostgreSQL's writers counted as PostgreSQL."""
    rest = {part: s for part, s in cpu.items() if part != WRITERS}
    return usage.total([rest, {"PostgreSQL": cpu.get(WRITERS, 0.0)}])


def _share(measured: Measured) -> float:
    return measured.client_cpu_s / measured.seconds if measured.seconds else 0.0
