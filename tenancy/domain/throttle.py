"""What is taken from a noisy tenant for a while. Spec: MT 9.2, contract 21.5."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import floor
from typing import Any, Final

from jobs.domain.claim import reduced
from jobs.domain.times import format_time

OFF: Final = "off"


class Action(StrEnum):
    """What is reduced."""

    WEIGHT = "weight"
    CONCURRENCY = "concurrency"


class Hold(StrEnum):
    """What a stored throttle does until it ends."""

    APPLIED = "applied"
    DRY_RUN = "dry_run"  # nothing: it is only told of
    LIFTED = "lifted"  # nothing, and no other one begins: an operator has released the tenant


@dataclass(frozen=True, slots=True)
class Reduction:
    """How a tenant is throttled; `had` is what it had when that began."""

    action: Action
    factor: float
    had: float

    def effective(self, configured: float | None) -> float:
        """Return what is left of a value, null: none is configured."""
        had = self.had if configured is None else configured
        if self.action is Action.WEIGHT:
            return reduced(had, self.factor)
        return min(had, max(1, floor(had * self.factor)))  # jobs are whole, and one may run


@dataclass(frozen=True, slots=True)
class Throttled:
    """What is taken from a tenant as it counts now."""

    action: Action
    reasons: tuple[str, ...]
    original: float
    effective: float
    since: datetime
    until: datetime

    def to_wire(self) -> dict[str, Any]:
        """Return the members of the contract that tell what is reduced."""
        return {
            "action": f"{self.action}_reduced",
            f"original_{self.action}": self.original,
            f"effective_{self.action}": self.effective,
            "until": format_time(self.until),
        }
