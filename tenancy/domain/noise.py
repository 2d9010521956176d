"""Which tenants are noisy neighbours. Spec: MT 9.1, contract 21.5.

A tenant is compared with the others that have traffic: one that is a hundred times as busy as its
only neighbour would else be at most twice as busy as the mean of both.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from typing import Final, NamedTuple

MIN_TENANTS: Final = 2  # alone, nobody disturbs anybody
# failures among strangers who have none: what any ratio would call too much
LEAST_ERROR_RATE: Final = 0.05


class Reason(StrEnum):
    """Wire names, in the order of the contract."""

    QUEUE_DEPTH = "queue_depth_ratio_exceeded"
    ENQUEUE_RATE = "enqueue_rate_ratio_exceeded"
    ACTIVE = "active_ratio_exceeded"
    ERROR_RATE = "error_rate_ratio_exceeded"


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds that have to be exceeded, and what has to be there at least to be looked at."""

    depth_ratio: float
    enqueue_ratio: float
    active_ratio: float
    error_ratio: float
    min_queued: int
    min_per_second: float
    min_active: int
    min_outcomes: int


class Sample(NamedTuple):
    """What a tenant did in a minute (`enqueued`, `completed`, `failed` attempts) and has now."""

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
    """One threshold that was exceeded: `value` > `threshold` times `compared_with`."""

    reason: Reason
    value: float
    compared_with: float
    threshold: float


def noisy(samples: Sequence[Sample], rules: Rules) -> dict[str, tuple[Signal, ...]]:
    """Return the tenants that are noisy, and by which signals.

    `samples` are of all tenants with traffic, one each.
    """
    if len(samples) < MIN_TENANTS:
        return {}
    crowd = _Crowd(samples)
    found = {one.tenant: tuple(_signals(one, crowd, rules)) for one in samples}
    return {tenant: signals for tenant, signals in found.items() if signals}


class _Crowd:
    """All tenants, to compare each with the others without a look at them one by one."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.others = len(samples) - 1
        self.active = sum(one.active for one in samples)
        self._queued = sorted(one.queued for one in samples)
        self._per_second = fsum(one.per_second for one in samples)
        self._tried = sum(1 for one in samples if one.outcomes)
        self._error_rate = fsum(one.error_rate for one in samples)

    def queued(self, one: Sample) -> float:
        """Return the median of the others: of the list without the place of this one."""
        place = bisect_left(self._queued, one.queued)
        low, high = (self.others - 1) // 2, self.others // 2
        return (self._queued[low + (low >= place)] + self._queued[high + (high >= place)]) / 2

    def per_second(self, one: Sample) -> float:
        """Return the mean of the others."""
        return max(0.0, self._per_second - one.per_second) / self.others

    def error_rate(self, one: Sample) -> float | None:
        """Return the mean of the others that had outcomes, as this one had; None: none had."""
        if self._tried == 1:
            return None
        return max(0.0, self._error_rate - one.error_rate) / (self._tried - 1)


def _signals(one: Sample, crowd: _Crowd, rules: Rules) -> Iterator[Signal]:
    if one.queued >= rules.min_queued:
        yield from _exceeded(Reason.QUEUE_DEPTH, one.queued, crowd.queued(one), rules.depth_ratio)
    if one.per_second >= rules.min_per_second:
        yield from _exceeded(
            Reason.ENQUEUE_RATE, one.per_second, crowd.per_second(one), rules.enqueue_ratio
        )
    if one.active >= rules.min_active:
        yield from _exceeded(Reason.ACTIVE, one.active, crowd.active, rules.active_ratio)
    if one.outcomes >= rules.min_outcomes and one.error_rate >= LEAST_ERROR_RATE:
        usual = crowd.error_rate(one)
        if usual is not None:
            yield from _exceeded(Reason.ERROR_RATE, one.error_rate, usual, rules.error_ratio)


def _exceeded(
    reason: Reason, value: float, compared_with: float, threshold: float
) -> Iterator[Signal]:
    if value > threshold * compared_with:
        yield Signal(reason, round(value, 4), round(compared_with, 4), threshold)
