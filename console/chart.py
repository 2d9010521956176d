"""Charts over time: columns of numbers that the browser draws, and the same as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console import marks, queries_over_time, ranges
from console.access import may
from console.marks import Mark, Subject
from console.ranges import RANGES, Range
from jobs.domain.wire.times import format_time
from jobs.services.record.rates import Point, Spell, history

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Row:
    """One step as a row of the table; `query` finds its jobs."""

    since: datetime
    until: datetime
    values: list[float | None]
    query: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Series over the same steps; `unit` is jobs or ms. `by` is the time that the links mean."""

    title: str
    unit: str
    by: str
    spell: Spell
    series: Sequence[tuple[str, str, list[Any]]]  # kind, label, value of each step
    marks: Sequence[Mark]
    subject: Subject

    @property
    def encoded(self) -> dict[str, Any]:
        """Return the data as charts.js reads it; times in Unix seconds."""
        return {
            "title": self.title,
            "unit": self.unit,
            "by": self.by,
            "step": self.spell.period_s,
            "at": [int(at.timestamp()) for at in self._steps()],
            "series": [
                {"kind": kind, "label": label, "values": values}
                for kind, label, values in self.series
            ],
            "marks": [marks.encode(mark) for mark in self.marks],
            "jobs": reverse("ojs_console:jobs"),
            "query": self.subject.query,
        }

    @property
    def step(self) -> str:
        """Return the length of a step in words."""
        return step_words(self.spell.period_s)

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Return the kinds of the marks in the plot, each with its word."""
        found = {mark.kind for mark in self.marks}
        return [(kind, word) for kind, word in marks.KINDS.items() if kind in found]

    @property
    def labels(self) -> list[str]:
        """Return the heads of the columns."""
        return [label for _, label, _ in self.series]

    @property
    def rows(self) -> list[Row]:
        """Return the steps with a value, latest first."""
        columns = [values for _, _, values in self.series]
        found = zip(self._steps(), zip(*columns, strict=True), strict=True)
        return [self._row(at, values) for at, values in reversed(list(found)) if any(values)]

    def _row(self, at: datetime, values: Sequence[float | None]) -> Row:
        until = at + timedelta(seconds=self.spell.period_s)
        times = {"since": format_time(at), "until": format_time(until)}
        by = {"by": self.by} if self.by else {}
        return Row(at, until, list(values), urlencode(self.subject.query | by | times))

    def _steps(self) -> list[datetime]:
        step, since = timedelta(seconds=self.spell.period_s), self.spell.since
        return [since + n * step for n in range(round((self.spell.until - since) / step))]


@dataclass(frozen=True, slots=True)
class Chart:
    """The steps of a range, including the current step; `failed` counts attempts."""

    range: Range
    spell: Spell
    points: Sequence[Point]
    marks: Sequence[Mark]
    subject: Subject
    links: Sequence[tuple[str, str, bool]]  # of the ranges: label, query, whether it is chosen

    @property
    def counts(self) -> Plot:
        """Return the jobs per step."""
        return self._plot(
            f"Jobs per {self.step}", "jobs", "",
            ("enqueued", "Enqueued", [point.enqueued for point in self.points]),
            ("completed", "Completed", [point.completed for point in self.points]),
            ("failed", "Failed attempts", [point.failed for point in self.points]),
        )  # fmt: skip

    @property
    def latencies(self) -> Plot:
        """Return waiting plus run time of completed jobs in ms; None for steps without jobs."""
        return self._plot(
            "Latency of completed jobs", "ms", "ended",
            *(
                (name, name, [getattr(point.latency, name) or None for point in self.points])
                for name in ("p50", "p95", "p99")
            ),
        )  # fmt: skip

    @property
    def means(self) -> Plot:
        """Return the mean of waiting plus run time of completed jobs in ms."""
        means = [point.mean_ms or None for point in self.points]
        return self._plot("Mean of wait plus run", "ms", "ended", ("p50", "Mean", means))

    @property
    def step(self) -> str:
        """Return the length of a step in words."""
        return step_words(self.spell.period_s)

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
        """Return whether latencies exist; the server keeps none for tenants and types."""
        return any(point.latency.p50 for point in self.points)

    @property
    def has_means(self) -> bool:
        """Return whether a job completed in the range."""
        return any(point.mean_ms for point in self.points)

    def _plot(self, title: str, unit: str, by: str, *series: tuple[str, str, list[Any]]) -> Plot:
        return Plot(title, unit, by, self.spell, series, self.marks, self.subject)


def step_words(step_s: int) -> str:
    """Return the length of a step in words: `minute`, `15 minutes`, `6 hours`, `day (UTC)`."""
    if step_s == DAY_S:
        return "day (UTC)"
    unit_s, name = (HOUR_S, "hour") if step_s % HOUR_S == 0 else (MINUTE_S, "minute")
    number = step_s // unit_s
    return name if number == 1 else f"{number} {name}s"


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that a page has read already: the chart then reads neither rows nor changes."""

    rows_per_hour: int
    changes: Sequence[queries_over_time.Change]


def chart(request: HttpRequest, subject: Subject, known: Known | None = None) -> Chart:
    """Read the chart of the range that the request names; at most four statements.

    Users who may not see the audit log get no marks.
    """
    chosen, now = ranges.read(request.GET), timezone.now()
    if known is not None:
        spell = chosen.spell(now, known.rows_per_hour)
        points = _points(spell, subject)
        found = marks.within(spell, subject, points, known.changes)
    else:
        spell = chosen.spell(now, queries_over_time.chart_rows(ranges.MOST_ROWS, subject.tenant))
        points = _points(spell, subject)
        found = marks.read(spell, subject, points) if may(request, "audit.see") else []
    return Chart(chosen, spell, points, found, subject, _links(request, chosen))


def _points(spell: Spell, subject: Subject) -> list[Point]:
    if subject.type is None:
        return history(spell, queue=subject.queue, tenant=subject.tenant)
    found = {
        step.at: Point(
            step.at, step.enqueued, step.completed, step.failed,
            (step.wait_ms / step.started if step.started else 0.0)
            + (step.run_ms / step.completed if step.completed else 0.0),
        )
        for step in queries_over_time.type_history(spell, subject.type)
    }  # fmt: skip
    number = round((spell.until - spell.since).total_seconds()) // spell.period_s
    at = [spell.since + timedelta(seconds=n * spell.period_s) for n in range(number)]
    return [found.get(moment.astimezone(UTC)) or Point(moment) for moment in at]


def _links(request: HttpRequest, chosen: Range) -> list[tuple[str, str, bool]]:
    given = request.GET.copy()
    found = []
    for one in RANGES:
        given["range"] = one.name
        found.append((one.label, given.urlencode(), one is chosen))
    return found
