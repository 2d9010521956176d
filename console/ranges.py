"""The ranges of charts: how far back they reach, and the length of their steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from jobs.conf import conf
from jobs.domain.outcome.retention import parse_age
from jobs.domain.record.periods import DAY, HOUR, MINUTE, coarsest
from jobs.services.record.rates import Spell

MOST_ROWS: Final = 200_000  # stored counts that a chart reads


@dataclass(frozen=True, slots=True)
class Range:
    """A range that ends now; `steps_s` are the possible lengths of its steps, finest first."""

    name: str  # in addresses
    label: str
    words: str  # after "the last"
    length_s: int
    steps_s: tuple[int, ...]

    def step_s(self, rows_per_hour: int) -> int:
        """Return the finest step whose counts are kept for the whole range and are few enough.

        `rows_per_hour` is the number of rows that store an hour in one span. The coarsest step has
        no condition.
        """
        fitting = (step for step in self.steps_s if self._fits(step, rows_per_hour))
        return next(fitting, self.steps_s[-1])

    def spell(self, now: datetime, rows_per_hour: int = 0) -> Spell:
        """Return the steps of the range; the last step contains `now`. Steps begin in UTC."""
        step_s = self.step_s(rows_per_hour)
        until_s = (int(now.timestamp()) // step_s + 1) * step_s
        until = datetime.fromtimestamp(until_s, UTC)
        return Spell(step_s, until - timedelta(seconds=self.length_s), until)

    def _fits(self, step_s: int, rows_per_hour: int) -> bool:
        span_s = coarsest(step_s)
        kept = conf()
        ages = {MINUTE: kept.retention_minutes, HOUR: kept.retention_hours, DAY: None}
        age_ms = parse_age(ages[span_s])
        is_kept = age_ms is None or age_ms >= 1000 * self.length_s
        return is_kept and rows_per_hour * self.length_s // span_s <= MOST_ROWS


RANGES: Final = (
    Range("15m", "15 min", "15 minutes", 15 * MINUTE, (MINUTE,)),
    Range("1h", "1 h", "hour", HOUR, (MINUTE,)),
    Range("6h", "6 h", "6 hours", 6 * HOUR, (5 * MINUTE, HOUR)),
    Range("24h", "24 h", "24 hours", DAY, (15 * MINUTE, HOUR)),
    Range("7d", "7 d", "7 days", 7 * DAY, (HOUR, DAY)),
    Range("30d", "30 d", "30 days", 30 * DAY, (6 * HOUR, DAY)),
    Range("90d", "90 d", "90 days", 90 * DAY, (DAY,)),
)
BY_NAME: Final = {one.name: one for one in RANGES}
USUAL: Final = "1h"


def read(given: Mapping[str, str]) -> Range:
    """Return the range that a query string names, an hour without a known name."""
    return BY_NAME.get(given.get("range", ""), BY_NAME[USUAL])
