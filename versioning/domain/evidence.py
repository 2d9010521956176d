"""Test whether a new version fails too often. Spec: contract 22.4; docs/adr/0017.

`Evidence` is a sequential test that allows any number of looks. The probability that equal versions
ever look unequal stays below the significance. Each look multiplies a bet by a likelihood ratio of
the outcomes since the last look. The numerator uses failure rates estimated from earlier outcomes,
the denominator one rate for both versions. If both versions fail equally, no such bet is expected
to grow (Turner, Ly and Grünwald, "Generic E-variables for exact sequential k-sample tests"). A part
of the stake is held back and added look by look. So the test also finds a version that turns bad
late.
"""

from dataclasses import dataclass
from math import exp, inf, log, log1p, sqrt
from typing import Final, NamedTuple, Self

PRIOR: Final = 2.0  # weight of the first estimate, in outcomes
ON_SUDDEN, SUDDEN = 0.1, 1 / 3  # the part of a bet on a sudden failure, and its failure rate
Z: Final = 1.959963984540054  # 95 percent between both sides


class Outcomes(NamedTuple):
    """Numbers of ended attempts."""

    acked: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All attempts that ended."""
        return self.acked + self.failed

    @property
    def rate(self) -> float | None:
        """The part of the attempts that failed; None: none ended."""
        return self.failed / self.total if self.total else None

    def minus(self, other: "Outcomes") -> "Outcomes":
        """Return the difference to `other`, which is a part of this."""
        return Outcomes(max(0, self.acked - other.acked), max(0, self.failed - other.failed))


class Pair(NamedTuple):
    """Outcomes of the canary and of the stable version."""

    new: Outcomes = Outcomes()
    old: Outcomes = Outcomes()


class Interval(NamedTuple):
    """The 95 percent confidence interval of a rate."""

    low: float
    high: float


def wilson(found: Outcomes) -> Interval:
    """Return Wilson's score interval of the failure rate; from 0 to 1 without outcomes."""
    if not found.total:
        return Interval(0.0, 1.0)
    n, rate = found.total, found.failed / found.total
    scale = 1 + Z * Z / n
    middle = (rate + Z * Z / (2 * n)) / scale
    reach = Z * sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n)) / scale
    # the ends are exact if no attempt failed, or all did
    low = 0.0 if not found.failed else max(0.0, middle - reach)
    return Interval(low, 1.0 if not found.acked else min(1.0, middle + reach))


@dataclass(frozen=True, slots=True)
class Evidence:
    """The state of the test; `log_bet` is the logarithm of the current bet."""

    looks: int = 0
    log_bet: float = -inf

    def after(self, seen: Pair, before: Pair, threshold: float) -> Self:
        """Return the evidence after a look that saw `seen`; `before` has the earlier outcomes."""
        if not seen.new.total and not seen.old.total:
            return self
        looks = self.looks + 1
        stake = -log(looks * (looks + 1))  # the parts 1/2, 1/6, 1/12, ... add up to 1
        return type(self)(looks, _log_add(self.log_bet, stake) + _grown(seen, before, threshold))

    def is_evident(self, significance: float) -> bool:
        """Return whether equal versions look like this with less than this probability."""
        return self.log_bet >= -log(significance)

    @property
    def p_value(self) -> float:
        """The smallest significance at which the evidence suffices, at most 1."""
        return min(1.0, exp(-max(0.0, self.log_bet)))


class Guess(NamedTuple):
    """Failure rates between 0 and 1; the rate of the new version is never the lower one."""

    new: float
    old: float


def _grown(seen: Pair, before: Pair, threshold: float) -> float:
    """Return the logarithm of a look's factor; a part of the bet is on a sudden failure."""
    guess = _guess(before, threshold)
    bad = guess._replace(new=max(guess.new, guess.old + (1 - guess.old) * SUDDEN))
    return _log_add(
        log(1 - ON_SUDDEN) + log_ratio(seen, guess), log(ON_SUDDEN) + log_ratio(seen, bad)
    )


def _guess(before: Pair, threshold: float) -> Guess:
    """Estimate from earlier outcomes, which must not include the current look."""
    bar = min(max(threshold, 0.001), 0.4)
    new = (before.new.failed + PRIOR * 2 * bar) / (before.new.total + PRIOR)
    old = (before.old.failed + PRIOR * bar / 2) / (before.old.total + PRIOR)
    return Guess(max(new, old), old)


def log_ratio(seen: Pair, guess: Guess) -> float:
    """Return the log likelihood ratio of the outcomes: these rates against one common rate."""
    total = seen.new.total + seen.old.total
    common = (seen.new.total * guess.new + seen.old.total * guess.old) / total
    return _likelihood(seen.new, guess.new, common) + _likelihood(seen.old, guess.old, common)


def _likelihood(found: Outcomes, rate: float, common: float) -> float:
    failed = found.failed * log(rate / common) if found.failed else 0.0
    return failed + (found.acked * log((1 - rate) / (1 - common)) if found.acked else 0.0)


def _log_add(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return high if low == -inf else high + log1p(exp(low - high))


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions of a rollback; `significance` None: the threshold alone decides."""

    threshold: float
    window_ms: int
    min_samples: int = 20
    significance: float | None = None
    cool_down_ms: int = 0

    def is_exceeded(self, found: Outcomes) -> bool:
        """Return whether it fails too often. Spec: contract 22.4, strictly above the threshold."""
        return found.total >= self.min_samples and found.failed > self.threshold * found.total

    def is_proven(self, evidence: Evidence) -> bool:
        """Return whether the failures are significant, if the rules require it."""
        return self.significance is None or evidence.is_evident(self.significance)
