"""The objective of a queue: the share of starts within a time. See docs/objectives.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobs.domain.errors import InvalidRequest
from jobs.domain.lanes.limits import whole

LOW_MS: Final = 100  # of the time to start; shorter times are below the noise of a claim
HIGH_MS: Final = 7 * 86_400_000
LOW_PERCENT: Final = 90.0  # with less than 83.4, no share of late starts has a burn rate of 6
HIGH_PERCENT: Final = 99.99
MEMBERS: Final = frozenset({"start_within_ms", "percent"})


@dataclass(frozen=True, slots=True)
class Objective:
    """`percent` of the jobs of a queue start within `start_within_ms` of becoming available."""

    start_within_ms: int
    percent: float

    @property
    def budget(self) -> float:
        """Return the part of the starts that may be late: 0.01 for 99 percent."""
        return round(1 - self.percent / 100, 6)


def objective_of(config: Mapping[str, Any]) -> Objective | None:
    """Read the objective of a stored configuration of a queue; None: it has none."""
    stored = config.get("objective")
    return Objective(**stored) if stored else None


def merge_objective(value: object, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the stored form of a changed objective: absent members stay. Raises InvalidRequest."""
    if not isinstance(value, Mapping):
        raise InvalidRequest.field("objective", "must be an object", value)
    if unknown := value.keys() - MEMBERS:
        raise InvalidRequest.field(f"objective.{min(unknown)}", "is not start_within_ms or percent")
    merged = {**(before or {}), **value}
    # the members that were sent first: an error names them rather than an absent one
    names = sorted(CHECKS, key=lambda name: name not in value)
    checked = {name: CHECKS[name](merged.get(name)) for name in names}
    return {name: checked[name] for name in CHECKS}


def _within(raw: object) -> int:
    return whole(raw, "objective.start_within_ms", low=LOW_MS, high=HIGH_MS)


def _percent(raw: object) -> float:
    if isinstance(raw, int | float) and LOW_PERCENT <= raw <= HIGH_PERCENT:  # beyond any bool
        return float(raw)
    problem = f"must be a number from {LOW_PERCENT:g} to {HIGH_PERCENT:g}"
    raise InvalidRequest.field("objective.percent", problem, raw)


CHECKS: Final[Mapping[str, Callable[[object], float]]] = {
    "start_within_ms": _within, "percent": _percent,
}  # fmt: skip
