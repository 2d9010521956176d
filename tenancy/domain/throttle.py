"""Throttles of noisy tenants. Spec: MT 9.2, contract 21.5."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import floor
from typing import Any, Final

from jobs.domain.dispatch.claim import reduced
from jobs.domain.wire.times import format_time

OFF: Final = "off"


class Action(StrEnum):
    """The value that a throttle reduces."""

    WEIGHT = "weight"
    CONCURRENCY = "concurrency"


class Hold(StrEnum):
    """Effect of a stored throttle until it ends."""

    APPLIED = "applied"
    DRY_RUN = "dry_run"  # no effect except its events
    LIFTED = "lifted"  # no effect, and none begins: an operator has released the tenant


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of a tenant; `had` is the value when it began."""

    action: Action
    factor: float
    had: float

    def effective(self, configured: float | None) -> float:
        """Return the reduced value; null: no value is configured."""
        had = self.had if configured is None else configured
        if self.action is Action.WEIGHT:
            return reduced(had, self.factor)
        return min(had, max(1, floor(had * self.factor)))  # whole jobs, and at least one may run


@dataclass(frozen=True, slots=True)
class Throttled:
    """The throttle of a tenant as it applies now."""

    action: Action
    reasons: tuple[str, ...]
    original: float
    effective: float
    since: datetime
    until: datetime

    def to_wire(self) -> dict[str, Any]:
        """Return the members of the contract that name the reduced values."""
        return {
            "action": f"{self.action}_reduced",
            f"original_{self.action}": self.original,
            f"effective_{self.action}": self.effective,
            "until": format_time(self.until),
        }
