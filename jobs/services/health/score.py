"""Rate the health of the system as one number for operators. Spec: contract 24.1."""

from dataclasses import dataclass

from jobs.services.health.health import SLOW_MS, health
from jobs.services.record.rates import rates
from jobs.services.record.unread import fullness

FULL_SCORE = 100

GOOD, FAIR = 90, 50
MOST_FAILED, MOST_STALE, MOST_UNREAD = 0.1, 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Check:
    """One check; it fails when `value` is above `limit`, and then takes `weight` points."""

    name: str
    value: float
    limit: float
    weight: int

    @property
    def is_ok(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Score:
    """All checks together."""

    checks: tuple[Check, ...]

    @property
    def points(self) -> int:
        """100 less the weights of the checks that failed."""
        return max(0, FULL_SCORE - sum(check.weight for check in self.checks if not check.is_ok))

    @property
    def status(self) -> str:
        """The score as one word."""
        return "ok" if self.points >= GOOD else "degraded" if self.points >= FAIR else "critical"


def score() -> Score:
    """Check database, loops, workers, the latest failures and readers of the event record."""
    found = health()
    if found.vitals is None:
        return Score((Check("database", 1, 0, FULL_SCORE),))
    silent = found.vitals.workers - found.vitals.alive
    now = rates()
    ended = now.completed + now.failed
    return Score(
        (
            Check("database_latency_ms", found.latency_ms, SLOW_MS, 30),
            Check("loops_stopped", int(not found.is_ticking), 0, 50),
            Check("stale_workers_ratio", _ratio(silent, found.vitals.workers), MOST_STALE, 20),
            Check("failure_ratio", _ratio(now.failed, ended), MOST_FAILED, 20),
            Check("events_unread_ratio", round(fullness(), 4), MOST_UNREAD, 30),
        )
    )


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
