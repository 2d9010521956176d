"""The circuit breaker of a region as a pure state machine. Spec: federation 4.3, contract 23.4.

Times are seconds of a clock that the caller chooses. A caller calls `admit` before a request and
`record_outcome` after it. Outcomes of calls that began before the breaker opened do not count.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

DEFAULT_THRESHOLD: Final = 5
DEFAULT_COOLDOWN_S: Final = 30.0


class State(StrEnum):
    """Wire names."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Outcome(StrEnum):
    """The result of a call for the region's breaker."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"  # such as 429: the region lives, which does not prove its health


@dataclass(frozen=True, slots=True)
class Rules:
    """The threshold at which a breaker opens, and the duration of the open state."""

    failure_threshold: int = DEFAULT_THRESHOLD
    cooldown_s: float = DEFAULT_COOLDOWN_S
    probe_lease_s: float = 30.0  # a probe without an outcome expires after it


@dataclass(frozen=True, slots=True)
class Breaker:
    """The complete state of a breaker between two calls."""

    state: State = State.CLOSED
    failures: int = 0  # in a row
    opened_at: float | None = None
    probe_until: float | None = None  # half-open: a call is in flight, at most until then
    is_forced: bool = False  # an operator opened it: no cooldown ends that

    def at(self, now: float, rules: Rules) -> "Breaker":
        """Return the breaker as of `now`, which turns half-open after its cooldown."""
        if self.state is not State.OPEN or self.is_forced:
            return self
        if self.opened_at is not None and now < self.opened_at + rules.cooldown_s:
            return self
        return replace(self, state=State.HALF_OPEN, probe_until=None)

    def would_admit(self, now: float, rules: Rules) -> bool:
        """Return whether a call could be sent now."""
        current = self.at(now, rules)
        return current.state is State.CLOSED or (
            current.state is State.HALF_OPEN and not current.is_probed(now)
        )

    def is_probed(self, now: float) -> bool:
        """Return whether the one call of a half-open breaker is in flight."""
        return self.probe_until is not None and now < self.probe_until

    def reopens_in(self, now: float, rules: Rules) -> float:
        """Return the seconds until the cooldown ends; 0 when it does not run."""
        if self.state is not State.OPEN or self.opened_at is None:
            return 0.0
        return max(0.0, self.opened_at + rules.cooldown_s - now)


@dataclass(frozen=True, slots=True)
class Permit:
    """The right to send one call."""

    is_probe: bool = False


def admit(breaker: Breaker, now: float, rules: Rules) -> tuple[Breaker, Permit | None]:
    """Return the new breaker and a permit for one call, or None instead of the permit."""
    current = breaker.at(now, rules)
    if current.state is State.CLOSED:
        return current, Permit()
    if current.state is State.OPEN or current.is_probed(now):
        return current, None
    return replace(current, probe_until=now + rules.probe_lease_s), Permit(is_probe=True)


def record_outcome(
    breaker: Breaker, permit: Permit, outcome: Outcome, now: float, rules: Rules
) -> Breaker:
    """Return the breaker after the end of an admitted call."""
    if breaker.state is State.CLOSED:
        return _counted(breaker, outcome, now, rules)
    if breaker.state is State.OPEN or not permit.is_probe:
        return breaker
    if outcome is Outcome.SUCCESS:
        return Breaker()
    if outcome is Outcome.FAILURE:
        return _opened(breaker.failures + 1, now)
    return replace(breaker, probe_until=None)


def _counted(breaker: Breaker, outcome: Outcome, now: float, rules: Rules) -> Breaker:
    if outcome is Outcome.NEUTRAL:
        return breaker
    if outcome is Outcome.SUCCESS:
        return replace(breaker, failures=0)
    failures = breaker.failures + 1
    if failures >= rules.failure_threshold:
        return _opened(failures, now)
    return replace(breaker, failures=failures)


def _opened(failures: int, now: float) -> Breaker:
    return Breaker(State.OPEN, failures=failures, opened_at=now)


def force_open(breaker: Breaker, now: float) -> Breaker:
    """Return a breaker that stays open until an operator closes it."""
    return Breaker(State.OPEN, failures=breaker.failures, opened_at=now, is_forced=True)


def force_closed() -> Breaker:
    """Return a closed breaker without failures."""
    return Breaker()
