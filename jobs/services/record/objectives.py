"""Read how a queue meets its objective. See docs/objectives.md.

Late starts are counted with all other starts, from the events: see sql/record/aggregate_events.sql.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs import queries
from jobs.domain.lanes.objective import Objective, objective_of
from jobs.domain.record.objective import WINDOWS, Window


@dataclass(frozen=True, slots=True)
class Judged:
    """The objective of a queue, and its starts in each of WINDOWS, the budget's window last."""

    objective: Objective
    windows: tuple[Window, ...]

    @property
    def budget_left(self) -> float | None:
        """Return the unused part of the error budget; None without starts."""
        return self.windows[-1].budget_left(self.objective)


def judged(queue: str, config: Mapping[str, Any]) -> Judged | None:
    """Return how a queue with this stored configuration meets its objective; None: it has none.

    The numbers are as of the last aggregation, and cover the jobs of all tenants.
    """
    objective = objective_of(config)
    if objective is None:
        return None
    found = queries.objective_windows(queue, objective.start_within_ms, WINDOWS)
    return Judged(objective, tuple(found))
