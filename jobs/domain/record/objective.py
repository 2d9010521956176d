"""Starts within a window, judged by the objective of their queue. See docs/objectives.md."""

from dataclasses import dataclass
from typing import Final

from jobs.domain.lanes.objective import Objective
from jobs.domain.record.periods import DAY, HOUR, MINUTE

OBJECTIVE_SPANS: Final = (MINUTE, HOUR)  # each has its own counts
BY_MINUTE_S: Final = 6 * HOUR  # longer windows are sums of hours
BUDGET_S: Final = 30 * DAY  # the error budget is that of this window
WINDOWS: Final = (HOUR, 6 * HOUR, 3 * DAY, BUDGET_S)  # as pages and the API show them, in seconds


@dataclass(frozen=True, slots=True)
class Window:
    """The starts of a queue within the last `window_s` seconds, and how many of them were late."""

    window_s: int
    started: int
    late: int

    @property
    def attainment(self) -> float | None:
        """Return the part of the starts that were in time; None without starts."""
        return 1 - self.late / self.started if self.started else None

    def burn_rate(self, objective: Objective) -> float | None:
        """Return how often the rate of late starts is the permitted rate; None without starts.

        At a constant burn rate of 1 the budget is used up exactly at the end of its window.
        """
        return self.late / self.started / objective.budget if self.started else None

    def budget_left(self, objective: Objective) -> float | None:
        """Return the unused part of the error budget: negative if overspent; None without starts.

        The budget is the number of late starts that the objective permits among the starts so far.
        """
        burned = self.burn_rate(objective)
        return None if burned is None else 1 - burned
