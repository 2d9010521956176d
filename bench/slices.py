"""Runs a path and its limit alternately, so that noise of the machine affects both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.load import Measured
from bench.paths import BenchPath, Slice, Target

BAR_CLIENTS = 8  # the bars apply to this number of clients
HELD_S = 20.0  # of load under a snapshot before the rate counts


@dataclass(frozen=True, slots=True)
class Plan:
    """The length and the number of the slices."""

    seconds: float
    slices: int
    held_s: float = HELD_S


@dataclass(frozen=True, slots=True)
class Row:
    """The slices of one path on one dataset."""

    path: BenchPath
    clients: int
    dataset: str
    served: list[Measured] = field(default_factory=list)
    limits: list[Measured] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return _median([part.rate for part in self.served])

    @property
    def limit(self) -> float:
        """Jobs per second of the limit."""
        return _median([part.rate for part in self.limits])

    @property
    def ratios(self) -> list[float]:
        """The ratio of each slice to the limit that was measured next to it."""
        if self.path.holds_snapshot:
            return [self.rate / self.limit] if self.limit else []
        pairs = zip(self.served, self.limits, strict=True)
        return sorted(served.rate / limit.rate for served, limit in pairs if limit.rate)

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return _median(self.ratios)

    @property
    def cpu_us(self) -> float:
        """CPU time of all processes per job."""
        return _median([part.cpu_us for part in self.served])

    @property
    def limit_cpu_us(self) -> float:
        """CPU time of all processes per job of the limit."""
        return _median([part.cpu_us for part in self.limits])

    @property
    def cpu_ratio(self) -> float:
        """The ratio by CPU time, which other load on the cores does not change."""
        return self.limit_cpu_us / self.cpu_us if self.cpu_us else 0.0

    @property
    def client_share(self) -> float:
        """The share of a core that the busiest client process took."""
        return _median([p.client_cpu_s / p.seconds for p in self.served if p.seconds])

    @property
    def bar(self) -> float | None:
        """The bar of the ratio; None: no bar is set."""
        return self.path.bar if self.clients == BAR_CLIENTS else None

    @property
    def is_below(self) -> bool:
        """Whether a bar is missed."""
        return self.bar is not None and self.ratio < self.bar

    def late_ms(self, share: float) -> float | None:
        """Return the latency in milliseconds that `share` of the cycles did not exceed."""
        return percentile([late * 1000 for part in self.served for late in part.latencies], share)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of all values do not exceed."""
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _median(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def compare(path: BenchPath, targets: Sequence[Target], clients: int, plan: Plan) -> Iterator[Row]:
    """Measure `path` on all targets alternately: A1 A2 B1 B2 A1 A2 …; yields a row per target."""
    if path.holds_snapshot:
        yield from (_under_snapshot(path, target, clients, plan) for target in targets)
        return
    rows = [Row(path, clients, target.dataset.title) for target in targets]
    for _ in range(plan.slices):
        for row, target in zip(rows, targets, strict=True):
            row.served.append(_slice(path, path.serve, target, clients, plan.seconds))
        for row, target in zip(rows, targets, strict=True):
            row.limits.append(_slice(path, path.limit, target, clients, plan.seconds))
    yield from rows


def _slice(path: BenchPath, run: Slice, target: Target, clients: int, seconds: float) -> Measured:
    marker = target.dataset.marker()
    target.dataset.ensure(round(path.needed * seconds))
    measured = run(target, clients, seconds)
    target.stack.peaks.look()
    if path.stores:
        target.dataset.tidy(marker)
    return measured


def _under_snapshot(path: BenchPath, target: Target, clients: int, plan: Plan) -> Row:
    """Measure before, during and after a held snapshot, because the machine's speed drifts."""
    row = Row(path, clients, target.dataset.title)
    long_s = plan.seconds * plan.slices
    target.dataset.ensure(round(path.needed * (2 * long_s + plan.held_s)))
    row.limits.append(path.limit(target, clients, long_s))
    with target.dataset.database.connect() as holder:
        holder.execute("SET idle_in_transaction_session_timeout = 0")
        holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM ojs_queue")
        path.serve(target, clients, plan.held_s)
        row.served.append(path.serve(target, clients, long_s))
    target.dataset.vacuum()
    target.dataset.ensure(round(path.needed * long_s))
    row.limits.append(path.limit(target, clients, long_s))
    return row
