"""Data of charts: columns of numbers that the browser draws, and the same as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.services.record.rates import Point, Spell, history

MINUTE_S, HOUR = 60, timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Hour:
    """The last hour by minutes, including the current minute; `failed` counts attempts."""

    points: Sequence[Point]

    @property
    def counts(self) -> dict[str, Any]:
        """Return jobs per minute, as charts.js reads them."""
        return self._chart(
            "Jobs per minute of the last hour",
            ("enqueued", "Enqueued", [point.enqueued for point in self.points]),
            ("completed", "Completed", [point.completed for point in self.points]),
            ("failed", "Failed attempts", [point.failed for point in self.points]),
        )

    @property
    def latencies(self) -> dict[str, Any]:
        """Return waiting plus run time of completed jobs in ms; null for minutes without jobs."""
        kinds = (("p50", "p50"), ("p95", "p95"), ("p99", "p99"))
        return self._chart(
            "Latency of completed jobs in the last hour",
            *(
                (kind, label, [getattr(point.latency, kind) or None for point in self.points])
                for kind, label in kinds
            ),
            unit="ms",
        )

    @property
    def enqueued(self) -> int:
        """Return the number of new jobs."""
        return sum(point.enqueued for point in self.points)

    @property
    def completed(self) -> int:
        """Return the number of completed jobs."""
        return sum(point.completed for point in self.points)

    @property
    def failed(self) -> int:
        """Return the number of failed attempts."""
        return sum(point.failed for point in self.points)

    @property
    def error_rate(self) -> float | None:
        """Return the share of failed attempts; None if no attempt ended."""
        ended = self.completed + self.failed
        return self.failed / ended if ended else None

    @property
    def has_latencies(self) -> bool:
        """Return whether latencies exist; the server keeps none for tenants."""
        return any(point.latency.p50 for point in self.points)

    def _chart(
        self, title: str, *series: tuple[str, str, list[Any]], unit: str = "jobs"
    ) -> dict[str, Any]:
        return {
            "title": title,
            "unit": unit,
            "at": [int(point.at.timestamp()) for point in self.points],
            "series": [
                {"kind": kind, "label": label, "values": values} for kind, label, values in series
            ],
        }


def last_hour(now: datetime, tenant: str | None = None, queue: str | None = None) -> Hour:
    """Read the hour that ends with `now`, for a tenant or a queue if given; two statements."""
    until = now.replace(second=0, microsecond=0) + timedelta(seconds=MINUTE_S)
    return Hour(history(Spell(MINUTE_S, until - HOUR, until), queue=queue, tenant=tenant))
