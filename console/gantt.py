"""Timelines as bars: the attempts and stored steps of a job, the steps of a workflow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from console.sizes import filesizeformat
from console.story import Attempt
from console.times import span
from durable.domain.steps import StoredStep
from workflows.domain.rows import StepRow

ROWS: Final = 60  # of a timeline, at most
TICKS: Final = 6  # at most
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
DISTANCES_MS: Final = (
    *(part * ten for ten in (1, 10, 100, SECOND) for part in (1, 2, 5)),
    *(part * SECOND for part in (10, 20, 30)),
    *(part * MINUTE for part in (1, 2, 5, 10, 20, 30)),
    *(part * HOUR for part in (1, 2, 4, 6, 12)),
    *(part * DAY for part in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)  # between ticks
TONES: Final = {
    "done": "completed",
    "version": "completed",
    "failed": "failed",
    "retrying": "retryable",
    "sleeping": "scheduled",
    "waiting": "scheduled",
    "timed_out": "discarded",
    "job_failed": "failed",
}  # of stored steps
WAITING: Final = frozenset(
    {"retrying", "sleeping", "waiting", "starting", "running"}
)  # states of stored steps
LEAST: Final = 0.4  # percent: the width of the shortest bar


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in percent of the width; `tone` is the name of a state, `words` describe it."""

    tone: str
    words: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """A row: its name, its state, its bars and their sum in words."""

    label: str
    state: str
    bars: list[Bar]
    words: str
    job_id: str | None = None
    workflow_id: str | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows from the earliest beginning to the latest end."""

    since: datetime
    until: datetime
    lines: list[Line]
    left_out: int
    ticks: list[tuple[float, str]] = field(default_factory=list)  # percent, time since the start

    @property
    def length_ms(self) -> int:
        """Return the time from the beginning to the end."""
        return round((self.until - self.since).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row before it has a place; a part has a tone, words, a beginning and an end."""

    label: str
    state: str
    parts: Sequence[tuple[str, str, datetime, datetime]]
    job_id: str | None = None
    workflow_id: str | None = None


def of_attempts(attempts: Sequence[Attempt], now: datetime) -> Timeline | None:
    """Return the timeline of a job's attempts, oldest first; None without a start."""
    rows = [_attempt(one, now) for one in reversed(attempts) if one.started_at is not None]
    return _timeline(rows[-ROWS:], len(rows))


def _attempt(one: Attempt, now: datetime) -> _Row:
    began = one.started_at or now
    parts = []
    if one.waited_ms:
        arrived = began - timedelta(milliseconds=one.waited_ms)
        parts.append(("waiting", f"waited {span(one.waited_ms)}", arrived, began))
    is_running = one.outcome is None and one.ran_ms is None
    ended = now if is_running else one.ended_at or began
    took = (ended - began).total_seconds() * 1000 if one.ran_ms is None else one.ran_ms
    words = f"runs for {span(took)}" if is_running else f"ran {span(took)}"
    parts.append((_tone(one.outcome), words, began, ended))
    return _Row(f"Attempt {one.number}", one.outcome or "running", parts)


def _tone(outcome: str | None) -> str:
    return outcome if outcome in {"completed", "failed", "cancelled"} else "active"


def of_steps(steps: Iterable[tuple[StepRow, str]], now: datetime) -> Timeline | None:
    """Return the timeline of steps with their states, by their start; None if no step began."""
    found = list(steps)
    ends = {step.index: step.finished_at for step, _ in found}
    rows = [_step(step, state, ends, now) for step, state in found if step.started_at is not None]
    rows.sort(key=lambda row: row.parts[-1][2])
    return _timeline(rows[:ROWS], len(rows))


def _step(step: StepRow, state: str, ends: dict[int, datetime | None], now: datetime) -> _Row:
    began = step.started_at or now
    ended = max(began, step.finished_at or now)
    parts = []
    ready = max((end for n in step.depends_on if (end := ends.get(n))), default=None)
    if ready is not None and ready < began:
        waited = (began - ready).total_seconds() * 1000
        parts.append(("waiting", f"waited {span(waited)}", ready, began))
    took = (ended - began).total_seconds() * 1000
    words = f"took {span(took)}" if step.finished_at else f"for {span(took)} until now"
    parts.append((state, words, began, ended))
    return _Row(step.name, state, parts, step.job_id, step.child_id)


def of_stored_steps(steps: Sequence[StoredStep], now: datetime) -> Timeline | None:
    """Return the timeline of the steps that a job has stored; None without one."""
    rows = [_stored(one, one.since, now) for one in steps if one.since is not None]
    return _timeline(rows[-ROWS:], len(rows))


def _stored(one: StoredStep, since: datetime, now: datetime) -> _Row:
    is_waiting = one.state in WAITING
    ended = max(since, now if is_waiting else one.at or since)
    took = (ended - since).total_seconds() * 1000
    facts = [f"for {span(took)} until now" if is_waiting else f"took {span(took)}"]
    if one.attempts is not None and one.attempts > 1:
        facts.append(f"{one.attempts} attempts")
    if one.bytes is not None and one.state == "done":
        facts.append(f"result {filesizeformat(one.bytes)}")
    if one.signal is not None:
        facts.append(f"signal {one.signal!r}")
    if is_waiting and one.until is not None:
        left = (one.until - now).total_seconds() * 1000
        facts.append(f"at most {span(left)} longer" if left > 0 else "its time is over")
    if one.error is not None:
        facts.append(one.error)
    if one.is_orphan:
        facts.append("the code no longer asks for it")
    tone, words = TONES.get(one.state, "active"), ", ".join(facts)
    parts = [(tone, words, since, ended)]
    return _Row(one.name, one.state.replace("_", " "), parts, one.job, one.workflow)


def _timeline(rows: Sequence[_Row], number: int) -> Timeline | None:
    if not rows:
        return None
    since = min(part[2] for row in rows for part in row.parts)
    until = max(part[3] for row in rows for part in row.parts)
    whole = max((until - since).total_seconds(), 0.001)
    lines = [_line(row, since, whole) for row in rows]
    return Timeline(since, until, lines, number - len(rows), _ticks(1000 * whole))


def _ticks(whole_ms: float) -> list[tuple[float, str]]:
    """Return places in percent, and the round times since the start that they stand for."""
    fitting = (one for one in DISTANCES_MS if whole_ms / one <= TICKS)
    distance = next(fitting, DISTANCES_MS[-1])
    number = min(TICKS, int(whole_ms // distance))
    marks = [
        (100 * n * distance / whole_ms, f"+{span(n * distance)}") for n in range(1, number + 1)
    ]
    return [(0.0, "start"), *((round(place, 1), words) for place, words in marks if place < 97)]  # noqa: PLR2004 - a word needs room


def _line(row: _Row, since: datetime, whole: float) -> Line:
    bars = []
    for tone, words, begins, ends in row.parts:
        left = 100 * (begins - since).total_seconds() / whole
        width = max(LEAST, 100 * (ends - begins).total_seconds() / whole)
        bars.append(Bar(tone, words, round(min(left, 100 - LEAST), 3), round(width, 3)))
    words = ", ".join(part[1] for part in row.parts)
    return Line(row.label, row.state, bars, words, row.job_id, row.workflow_id)
