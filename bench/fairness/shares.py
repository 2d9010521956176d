"""Fairness measures of an order of dispatches: plain arithmetic over sequences of names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

Refill = tuple[int, str, int]  # before this turn, this queue got this number of jobs


def shares_of(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the share of all turns that each name is entitled to."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def worst_share(order: Sequence[str], shares: Mapping[str, float], window: int) -> float:
    """Return the greatest error of a name's share in any window.

    Raises ValueError without a whole window.
    """
    if len(order) < window:
        raise ValueError(f"{len(order)} turns have no window of {window}")
    counts = Counter(order[:window])

    def off(name: str) -> float:
        return abs(counts[name] / window - shares.get(name, 0.0))

    worst = max(map(off, {*shares, *counts}))
    for left, come in zip(order, order[window:], strict=False):  # only these two counts change
        counts[left] -= 1
        counts[come] += 1
        worst = max(worst, off(left), off(come))
    return worst


def longest_wait(
    order: Sequence[str], stocks: Mapping[str, int], refills: Iterable[Refill] = ()
) -> dict[str, int]:
    """Return for each name the most turns in a row that other names got while it had jobs.

    `stocks` are the jobs at the beginning. A name whose longest wait is below 1/r had at least the
    whole part of N x r of any N turns in a row.
    """
    left = dict(stocks)
    waiting, longest = dict.fromkeys(left, 0), dict.fromkeys(left, 0)
    coming = sorted(refills, reverse=True)
    for n, name in enumerate(order):
        while coming and coming[-1][0] <= n:
            _, filled, number = coming.pop()
            left[filled] += number
        for other, jobs in left.items():
            waits = other != name and jobs > 0
            waiting[other] = waiting[other] + 1 if waits else 0
            longest[other] = max(longest[other], waiting[other])
        left[name] -= 1
    return longest


def widest_gap(order: Sequence[str], names: Iterable[str]) -> int:
    """Return the greatest difference in turns between two names over any turns in a row."""
    worst = 0
    for one, other in combinations(names, 2):
        gap = lowest = highest = 0
        for name in order:
            gap += (name == one) - (name == other)
            lowest, highest = min(lowest, gap), max(highest, gap)
        worst = max(worst, highest - lowest)
    return worst


def jain(numbers: Sequence[float]) -> float:
    """Return Jain's index: 1 when all are equal, 1/n when one has everything."""
    squares = sum(number * number for number in numbers)
    return sum(numbers) ** 2 / (len(numbers) * squares) if squares else 0.0


def worst_jain(order: Sequence[str], names: Sequence[str], window: int) -> float:
    """Return the lowest index of any window. Raises ValueError without a whole window."""
    if len(order) < window:
        raise ValueError(f"{len(order)} turns have no window of {window}")
    counts = Counter(order[:window])
    squares = sum(counts[name] ** 2 for name in names)
    most = squares
    for left, come in zip(order, order[window:], strict=False):
        squares -= 2 * counts[left] - 1
        counts[left] -= 1
        squares += 2 * counts[come] + 1
        counts[come] += 1
        most = max(most, squares)
    return window**2 / (len(names) * most)
