"""Find noisy tenants. Spec: MT 9.1, contract 21.5.

A tenant is compared with the other tenants that have traffic. If the mean included the tenant
itself, one with a hundred times the activity of its only neighbour would reach at most twice the
mean.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from typing import Final, NamedTuple

MIN_TENANTS: Final = 2  # a single tenant disturbs no other
# a lower rate counts as normal, even if other tenants have no failures
LEAST_ERROR_RATE: Final = 0.05


class Reason(StrEnum):
    """Wire names, in the order of the contract."""

    QUEUE_DEPTH = "queue_depth_ratio_exceeded"
    ENQUEUE_RATE = "enqueue_rate_ratio_exceeded"
    ACTIVE = "active_ratio_exceeded"
    ERROR_RATE = "error_rate_ratio_exceeded"


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds of noise, and minimums below which no signal counts."""

    depth_ratio: float
    enqueue_ratio: float
    active_ratio: float
    error_ratio: float
    min_queued: int
    min_per_second: float
    min_active: int
    min_outcomes: int


class Sample(NamedTuple):
    """Activity of a tenant: `enqueued`, `completed`, `failed` in a minute, and current jobs.

    `completed` and `failed` count attempts.
    """

    tenant: str
    enqueued: float = 0
    completed: float = 0
    failed: float = 0
    queued: int = 0  # available jobs
    active: int = 0

    @property
    def outcomes(self) -> float:
        """Attempts that ended."""
        return self.completed + self.failed

    @property
    def per_second(self) -> float:
        """New jobs."""
        return self.enqueued / 60

    @property
    def error_rate(self) -> float:
        """The part of the outcomes that failed."""
        return self.failed / self.outcomes if self.outcomes else 0.0


@dataclass(frozen=True, slots=True)
class Signal:
    """One exceeded threshold: `value` > `threshold` times `compared_with`."""

    reason: Reason
    value: float
    compared_with: float
    threshold: float


def noisy(samples: Sequence[Sample], rules: Rules) -> dict[str, tuple[Signal, ...]]:
    """Return the noisy tenants and their signals.

    `samples` has one entry for each tenant with traffic.
    """
    if len(samples) < MIN_TENANTS:
        return {}
    totals = _Totals(samples)
    found = {one.tenant: tuple(_signals(one, totals, rules)) for one in samples}
    return {tenant: signals for tenant, signals in found.items() if signals}


class _Totals:
    """All tenants, prepared to compare each with the rest in constant or logarithmic time."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.others = len(samples) - 1
        self.active = sum(one.active for one in samples)
        self._queued = sorted(one.queued for one in samples)
        self._per_second = fsum(one.per_second for one in samples)
        self._tried = sum(1 for one in samples if one.outcomes)
        self._error_rate = fsum(one.error_rate for one in samples)

    def queued(self, one: Sample) -> float:
        """Return the median of the other tenants: of the list without this tenant's place."""
        place = bisect_left(self._queued, one.queued)
        low, high = (self.others - 1) // 2, self.others // 2
        return (self._queued[low + (low >= place)] + self._queued[high + (high >= place)]) / 2

    def per_second(self, one: Sample) -> float:
        """Return the mean of the other tenants."""
        return max(0.0, self._per_second - one.per_second) / self.others

    def error_rate(self, one: Sample) -> float | None:
        """Return the mean of the other tenants with outcomes; None: there are none."""
        if self._tried == 1:
            return None
        return max(0.0, self._error_rate - one.error_rate) / (self._tried - 1)


def _signals(one: Sample, totals: _Totals, rules: Rules) -> Iterator[Signal]:
    if one.queued >= rules.min_queued:
        yield from _exceeded(Reason.QUEUE_DEPTH, one.queued, totals.queued(one), rules.depth_ratio)
    if one.per_second >= rules.min_per_second:
        yield from _exceeded(
            Reason.ENQUEUE_RATE, one.per_second, totals.per_second(one), rules.enqueue_ratio
        )
    if one.active >= rules.min_active:
        yield from _exceeded(Reason.ACTIVE, one.active, totals.active, rules.active_ratio)
    if one.outcomes >= rules.min_outcomes and one.error_rate >= LEAST_ERROR_RATE:
        usual = totals.error_rate(one)
        if usual is not None:
            yield from _exceeded(Reason.ERROR_RATE, one.error_rate, usual, rules.error_ratio)


def _exceeded(
    reason: Reason, value: float, compared_with: float, threshold: float
) -> Iterator[Signal]:
    if value > threshold * compared_with:
        yield Signal(reason, round(value, 4), round(compared_with, 4), threshold)
