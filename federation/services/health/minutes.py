"""Response times of regions in the last hour, by minutes, from probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from federation.models import RegionMinute
from jobs.services.read.clock import now

MINUTES: Final = 60


@dataclass(frozen=True, slots=True)
class Hour:
    """The last hour of a region, oldest minute first; None: no probe succeeded in that minute."""

    latencies_ms: Sequence[float | None]
    failures: int

    @property
    def measured(self) -> list[float]:
        """The latencies of minutes with a successful probe."""
        return [one for one in self.latencies_ms if one is not None]


def last_hour() -> Mapping[str, Hour]:
    """Return the last hour of each region that was probed in it, with one statement."""
    end = now().replace(second=0, microsecond=0)
    first = end - timedelta(minutes=MINUTES - 1)
    found: dict[str, list[RegionMinute]] = {}
    for row in RegionMinute.objects.filter(at__gte=first):
        found.setdefault(row.region_id, []).append(row)
    return {region: _hour(rows, first) for region, rows in found.items()}


def _hour(rows: Sequence[RegionMinute], first: datetime) -> Hour:
    latencies: list[float | None] = [None] * MINUTES
    for row in rows:
        n = int((row.at - first).total_seconds()) // 60
        if row.answers and n < MINUTES:
            latencies[n] = round(row.total_ms / row.answers, 1)
    return Hour(latencies, sum(row.failures for row in rows))
