"""Parse cron expressions and compute their times. Spec: contract 7.2, 7.3.

cronsim parses the five fields and walks the calendar in local time, without a zone. This module
adds names such as `@daily`, `@every`, `nW`, the rule for day and weekday, and the contract's rules
for times that the clocks skip or repeat.
"""

import calendar
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY: Final = re.compile(
    r"@every +(?=\d)(?:(?P<hours>\d{1,7})h)?(?:(?P<minutes>\d{1,9})m(?!s))?"
    r"(?:(?P<seconds>\d{1,11})s)?(?:(?P<milliseconds>\d{1,14})ms)?",
    re.ASCII,
)
ANY: Final = frozenset({"*", "*/1"})
NEAREST: Final = re.compile(r"0*([1-9]|[12]\d|3[01])W", re.ASCII)
FIELDS: Final = 5
DAY, WEEKDAY = 2, 4  # places of the fields that name days
SATURDAY, SUNDAY = 5, 6
MAX_EXPRESSION: Final = 255
SHORTEST, LONGEST = timedelta(seconds=1), timedelta(days=366)
HORIZON: Final = timedelta(days=50 * 366)  # an expression without a run in this time never runs
LONGEST_SHIFT: Final = timedelta(hours=3)  # of clocks, if no whole day is skipped
MINUTE, INSTANT = timedelta(minutes=1), timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a schedule in UTC; `skipped` is the local time if the clocks jump over it."""

    at: datetime
    skipped: datetime | None = None


class Interval:
    """`@every`: real time since the registration or the last run."""

    def __init__(self, length: timedelta) -> None:
        """Take the length."""
        self.length = length

    def occurrences(self, after: datetime) -> Iterator[Occurrence]:
        """Yield the times later than `after`, in order; clock changes have no effect."""
        while True:
            after += self.length
            yield Occurrence(after)


class Calendar:
    """Five fields in a zone."""

    def __init__(self, fields: list[str], zone: str) -> None:
        """Read the fields. Raises ValueError."""
        self._walk = _Walk(fields)
        self._zone = ZoneInfo(zone)
        self._has_every_hour = len(self._walk.hours) == len(range(24))

    def occurrences(self, after: datetime) -> Iterator[Occurrence]:
        """Yield the times later than `after`, in order.

        A local time that the clocks skip comes at the moment of the jump. A local time that they
        repeat comes once, at its first occurrence. Schedules with hour `*` follow real time and
        have neither.
        """
        if self._zone.key == "UTC":
            return (Occurrence(at.replace(tzinfo=UTC)) for at in self._locals(after))
        if self._has_every_hour:
            return map(Occurrence, self._real_times(after))
        return self._wall_times(after)

    def _locals(self, after: datetime) -> Iterator[datetime]:
        """Walk the matching local times, without a zone, later than the local time of `after`."""
        walk = copy(self._walk)
        walk.dt = after.astimezone(self._zone).replace(tzinfo=None, fold=0, microsecond=0)
        return walk

    def _wall_times(self, after: datetime) -> Iterator[Occurrence]:
        for local in self._locals(after):
            at = local.replace(tzinfo=self._zone).astimezone(UTC)  # fold 0: the first of two
            if at.astimezone(self._zone).replace(tzinfo=None) != local:
                yield Occurrence(self._jump_over(local), skipped=local)
            elif at > after:  # else `after` is in a repeated hour, and the first pass had this time
                yield Occurrence(at)

    def _jump_over(self, local: datetime) -> datetime:
        """Return when the clocks jump over a local time that does not exist."""
        late, early = (
            local.replace(tzinfo=self._zone, fold=fold).astimezone(UTC) for fold in (0, 1)
        )
        before = early.astimezone(self._zone).utcoffset()
        while late - early > MINUTE:  # the offset changes between them
            middle = early + (late - early) // (2 * MINUTE) * MINUTE
            if middle.astimezone(self._zone).utcoffset() == before:
                early = middle
            else:
                late = middle
        return late

    def _real_times(self, after: datetime) -> Iterator[datetime]:
        """Walk by minutes on days that match, and by days otherwise."""
        at = after.replace(second=0, microsecond=0) + MINUTE
        while True:
            local = at.astimezone(self._zone)
            if not (local.month in self._walk.months and self._walk.match_day(local.date())):
                day = next(self._locals(at), None)
                if day is None:
                    return
                midnight = datetime.combine(day, datetime.min.time(), self._zone)
                # not straight to midnight: the clocks may change around it
                at = max(at + MINUTE, midnight.astimezone(UTC) - LONGEST_SHIFT)
                continue
            if local.minute in self._walk.minutes:
                yield at
            at += MINUTE


Schedule = Interval | Calendar


class _Walk(CronSim):
    """cronsim with `nW` and with the contract's rule for day and weekday."""

    def __init__(self, fields: list[str]) -> None:
        fields = [field.upper() for field in fields]
        days = fields[DAY].split(",")
        others = [day for day in days if not NEAREST.fullmatch(day)]
        try:
            readable = [*fields[:DAY], ",".join(others) or "*", *fields[DAY + 1 :]]
            readable = [_readable(place, field) for place, field in enumerate(readable)]
            super().__init__(" ".join(readable), datetime(2000, 1, 1))  # noqa: DTZ001 - local time
        except CronSimError as problem:
            name = str(problem).removeprefix("Bad ")
            raise ValueError(f"has a {name} that does not exist") from None
        if not others:
            self.days = set()
        self.nearest = [int(match[1]) for day in days if (match := NEAREST.fullmatch(day))]
        self.day_and = fields[DAY] in ANY or fields[WEEKDAY] in ANY

    def match_dom(self, day: date) -> bool:
        """Return whether the day of the month matches."""
        return super().match_dom(day) or any(
            day.day == _working_day(day.year, day.month, number) for number in self.nearest
        )


def _readable(place: int, field: str) -> str:
    """Rewrite terms that cronsim interprets differently from the contract. Raises ValueError."""
    terms = []
    for term in field.split(","):
        span, slash, step = term.partition("/")
        if slash and place == DAY and "L" in span:
            raise ValueError("cannot step from the last day")
        is_one = step.strip("0").isdigit() and "-" in span and len(_values(place, span)) == 1
        terms.append(span if is_one else term)  # `3-3/2` means 3; cronsim would go on to the end
    return ",".join(terms)


def _values(place: int, span: str) -> set[int]:
    return Field(place + 1).parse(span)  # type: ignore[return-value]  # pairs only for weekdays


def _working_day(year: int, month: int, number: int) -> int | None:
    """Return the day from Monday to Friday nearest to a day of the month, in the same month."""
    last = calendar.monthrange(year, month)[1]
    if number > last:
        return None
    match calendar.weekday(year, month, number):
        case 5:  # Saturday
            return number - 1 if number > 1 else number + 2
        case 6:  # Sunday
            return number + 1 if number < last else number - 2
        case _:
            return number


@cache
def zones() -> frozenset[str]:
    """Return the zone names that a schedule may have: `UTC` and names with a region."""
    return frozenset({"UTC", *(name for name in available_timezones() if "/" in name)})


def check_zone(name: object) -> str:
    """Return the name of a zone. Raises ValueError."""
    if not isinstance(name, str) or name not in zones():
        raise ValueError("must be UTC or the IANA name of a zone such as Europe/Berlin")
    return name


@lru_cache(4096)
def parse(expression: str, zone: str) -> Schedule:
    """Read an expression for a valid zone. Raises ValueError."""
    if not expression.isascii() or len(expression) > MAX_EXPRESSION:
        raise ValueError(f"must have at most {MAX_EXPRESSION} ASCII characters")
    text = expression.strip()
    if text.lower().startswith("@every"):
        return Interval(_length(text.lower()))
    fields = ALIASES.get(text.lower(), text).split()
    if len(fields) != FIELDS:
        raise ValueError(f"must have {FIELDS} fields or be one of @every and {', '.join(ALIASES)}")
    return Calendar(fields, zone)


def _length(text: str) -> timedelta:
    match = EVERY.fullmatch(text)
    if match is None:
        raise ValueError("must be @every with a length such as 1h30m, 45s or 1500ms")
    length = timedelta(**{unit: int(number) for unit, number in match.groupdict("0").items()})
    if not SHORTEST <= length <= LONGEST:
        raise ValueError("must be @every with a length from 1s to 366 days")
    return length


@dataclass(frozen=True, slots=True)
class Plan:
    """The next times of a schedule: `due_at` is the next run, or a skipped time before it."""

    due_at: datetime
    next_run_at: datetime


def plan(schedule: Schedule, after: datetime) -> Plan | None:
    """Find the next run later than `after`; None if there is never another run."""
    due_at = None
    for occurrence in schedule.occurrences(after):
        if occurrence.at - after > HORIZON:
            break
        due_at = due_at or occurrence.at
        if occurrence.skipped is None:
            return Plan(due_at, occurrence.at)
    return None


def skipped_until(schedule: Schedule, since: datetime, now: datetime) -> list[Occurrence]:
    """Return the times from `since` to `now` that the clocks skip, up to the next run."""
    found: list[Occurrence] = []
    for occurrence in schedule.occurrences(since - INSTANT):
        if occurrence.at > now or occurrence.skipped is None:
            break
        found.append(occurrence)
    return found


def runs(schedule: Schedule, after: datetime, number: int) -> list[datetime]:
    """Return the next runs later than `after`, at most `number`."""
    found: list[datetime] = []
    while len(found) < number and (coming := plan(schedule, found[-1] if found else after)):
        found.append(coming.next_run_at)
    return found


def describe(expression: str) -> str | None:
    """Describe an expression in English; None if cronsim cannot parse it."""
    text = expression.strip().lower()
    try:
        return CronSim(ALIASES.get(text, text), datetime(2000, 1, 1)).explain()  # noqa: DTZ001
    except CronSimError:
        return None
