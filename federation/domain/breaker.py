"""The circuit breaker of a region as a pure state machine. Spec: federation 4.3, contract 23.4.

Times are seconds of any clock that the caller keeps to. A call asks `admit` first and tells
`settle` afterwards; of calls that began before the breaker opened the outcome no longer counts.
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
    """What a call says of the region."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"  # such as 429: it lives, but that proves nothing


@dataclass(frozen=True, slots=True)
class Rules:
    """When a breaker opens and how long it stays so."""

    failure_threshold: int = DEFAULT_THRESHOLD
    cooldown_s: float = DEFAULT_COOLDOWN_S
    probe_lease_s: float = 30.0  # a probe whose outcome nobody told is forgotten after this


@dataclass(frozen=True, slots=True)
class Breaker:
    """State; all that has to be stored of a breaker between two calls."""

    state: State = State.CLOSED
    failures: int = 0  # in a row
    opened_at: float | None = None
    probe_until: float | None = None  # half-open: a call is in flight, at most until then
    is_forced: bool = False  # an operator opened it: no cooldown ends that

    def at(self, now: float, rules: Rules) -> "Breaker":
        """Return the breaker as it is now: the cooldown may be over."""
        if self.state is not State.OPEN or self.is_forced:
            return self
        if self.opened_at is not None and now < self.opened_at + rules.cooldown_s:
            return self
        return replace(self, state=State.HALF_OPEN, probe_until=None)

    def would_admit(self, now: float, rules: Rules) -> bool:
        """Tell whether a call could be sent now."""
        current = self.at(now, rules)
        return current.state is State.CLOSED or (
            current.state is State.HALF_OPEN and not current.is_probed(now)
        )

    def is_probed(self, now: float) -> bool:
        """Tell whether the one call of a half-open breaker is in flight."""
        return self.probe_until is not None and now < self.probe_until

    def reopens_in(self, now: float, rules: Rules) -> float:
        """Return the seconds until the cooldown ends; 0 when it does not run."""
        if self.state is not State.OPEN or self.opened_at is None:
            return 0.0
        return max(0.0, self.opened_at + rules.cooldown_s - now)


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to send one call."""

    is_probe: bool = False


def admit(breaker: Breaker, now: float, rules: Rules) -> tuple[Breaker, Permit | None]:
    """Return the breaker afterwards and leave for one call, None when it must not be sent."""
    current = breaker.at(now, rules)
    if current.state is State.CLOSED:
        return current, Permit()
    if current.state is State.OPEN or current.is_probed(now):
        return current, None
    return replace(current, probe_until=now + rules.probe_lease_s), Permit(is_probe=True)


def settle(breaker: Breaker, permit: Permit, outcome: Outcome, now: float, rules: Rules) -> Breaker:
    """Return the breaker after a call that was admitted has ended."""
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
    """Open it until an operator closes it."""
    return Breaker(State.OPEN, failures=breaker.failures, opened_at=now, is_forced=True)


def force_closed() -> Breaker:
    """Close it and forget the failures."""
    return Breaker()
