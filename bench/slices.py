"""Runs a path and its limit in turns, so that noise of the machine hits both alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from bench.load import Measured
from bench.paths import BenchPath, Slice, Target

BAR_CLIENTS = 8  # the bars are set for as many


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of one path on one dataset; latencies in milliseconds per cycle."""

    path: BenchPath
    clients: int
    dataset: str
    rate: float
    limit: float
    p50_ms: float | None
    p99_ms: float | None
    client_cpu: float  # cores taken by the HTTP client
    cpu_us: float  # of all processes, per job
    limit_cpu_us: float

    @property
    def ratio(self) -> float:
        """The share of the limit that was reached."""
        return self.rate / self.limit if self.limit else 0.0

    @property
    def cpu_ratio(self) -> float:
        """The same by CPU time per job: what is left of the ratio when others use the cores."""
        return self.limit_cpu_us / self.cpu_us if self.cpu_us else 0.0

    @property
    def bar(self) -> float | None:
        """What the ratio must reach; None where no bar is set."""
        return self.path.bar if self.clients == BAR_CLIENTS else None

    @property
    def is_below(self) -> bool:
        """Tell whether a bar is missed."""
        return self.bar is not None and self.ratio < self.bar


def compare(
    path: BenchPath, targets: Sequence[Target], clients: int, seconds: float, slices: int
) -> Iterator[Row]:
    """Measure `path` on all targets in turns: A1 A2 B1 B2 A1 A2 …; yields a row per target."""
    served: dict[str, list[Measured]] = {target.dataset.title: [] for target in targets}
    limits: dict[str, list[Measured]] = {target.dataset.title: [] for target in targets}
    for _ in range(slices if path.is_repeated else 1):
        # a path under a held snapshot is compared with its own rate before
        turns = [(path.serve, served), (path.limit, limits)]
        for run, found in turns if path.is_repeated else reversed(turns):
            for target in targets:
                found[target.dataset.title].append(_slice(path, run, target, clients, seconds))
    for title, parts in served.items():
        yield _row(path, clients, title, parts, limits[title])


def _slice(path: BenchPath, run: Slice, target: Target, clients: int, seconds: float) -> Measured:
    marker = target.dataset.marker()
    target.dataset.ensure(round(path.needed * seconds))
    measured = run(target, clients, seconds)
    if path.stores:
        target.dataset.tidy(marker)
    return measured


def _row(
    path: BenchPath, clients: int, title: str, served: list[Measured], limits: list[Measured]
) -> Row:
    latencies = sorted(late for part in served for late in part.latencies)
    seconds = sum(part.seconds for part in served)
    return Row(
        path, clients, title,
        rate=median(part.rate for part in served),
        limit=median(part.rate for part in limits),
        p50_ms=_percentile(latencies, 0.50),
        p99_ms=_percentile(latencies, 0.99),
        client_cpu=sum(part.client_cpu_s for part in served) / seconds if seconds else 0.0,
        cpu_us=median(_cpu_us(part) for part in served),
        limit_cpu_us=median(_cpu_us(part) for part in limits),
    )  # fmt: skip


def _cpu_us(part: Measured) -> float:
    return part.cpu_s / part.jobs * 1e6 if part.jobs else 0.0


def _percentile(ordered: list[float], share: float) -> float | None:
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000
