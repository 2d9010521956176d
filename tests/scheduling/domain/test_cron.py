"""Cron expressions, by tables and by an oracle for every minute. Spec: contract 7.2, 7.3."""

import calendar
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduling.domain.cron import (
    ALIASES,
    Interval,
    Occurrence,
    check_zone,
    describe,
    parse,
    plan,
    runs,
    skipped_until,
)
from tests.effort import examples
from tests.spec import spec

NOW = datetime(2026, 5, 4, 9, 12, 30, 104233, UTC)
NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"


def next_run(expression: str, zone: str = "UTC", after: datetime = NOW) -> datetime | None:
    coming = plan(parse(expression, zone), after)
    return coming.next_run_at if coming else None


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# --- 7.2: forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", "2026-05-04T09:13"),
        ("30 * * * *", "2026-05-04T09:30"),
        ("0,45 8,9 * * *", "2026-05-04T09:45"),
        ("10-15 * * * *", "2026-05-04T09:13"),
        ("*/20 * * * *", "2026-05-04T09:20"),
        ("5-50/20 * * * *", "2026-05-04T09:25"),
        ("7/20 * * * *", "2026-05-04T09:27"),
        ("7-7/20 * * * *", "2026-05-04T10:07"),
        ("*/100 * * * *", "2026-05-04T10:00"),
        ("  0   12 \t* * *  ", "2026-05-04T12:00"),
        ("0 0 * JAN *", "2027-01-01T00:00"),
        ("0 0 1 JUL-JUL/2 *", "2026-07-01T00:00"),
        ("0 0 1 JUN/3 *", "2026-06-01T00:00"),
        ("0 0 1 feb-Apr *", "2027-02-01T00:00"),
        ("0 0 * * wed", "2026-05-06T00:00"),
        ("0 0 * * 0", "2026-05-10T00:00"),
        ("0 0 * * 7", "2026-05-10T00:00"),
        ("0 0 * * 5-7", "2026-05-08T00:00"),
        ("0 0 L * *", "2026-05-31T00:00"),
        ("0 0 L 2 *", "2027-02-28T00:00"),
        ("0 0 LW * *", "2026-05-29T00:00"),
        ("0 0 * * 5L", "2026-05-29T00:00"),
        ("0 0 * * MON#1", "2026-06-01T00:00"),
        ("0 0 * * 5#5", "2026-05-29T00:00"),
        ("0 0 15W * *", "2026-05-15T00:00"),
        ("0 0 16W * *", "2026-05-15T00:00"),  # Saturday: the Friday before
        ("0 0 17W * *", "2026-05-18T00:00"),  # Sunday: the Monday after
        ("0 0 1W 8 *", "2026-08-03T00:00"),  # Saturday the first: not in the month before
        ("0 0 31W 5 *", "2026-05-29T00:00"),  # Sunday the last: not in the month after
        ("0 0 31W * *", "2026-05-29T00:00"),
        ("0 0 9,15w * *", "2026-05-09T00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("0 0 29 2 MON#5", "2026-05-04T00:00"),
    ],
)
@spec("contract 7.2")
def test_form_means_its_times(expression: str, expected: str) -> None:
    if expression == "0 0 29 2 MON#5":  # day or weekday, in February only
        assert next_run(expression) == at("2028-02-29T00:00")
    else:
        assert next_run(expression) == at(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("@yearly", "2027-01-01"), ("@annually", "2027-01-01"), ("@monthly", "2026-06-01"),
        ("@weekly", "2026-05-10"), ("@daily", "2026-05-05"), ("@midnight", "2026-05-05"),
        ("@hourly", "2026-05-04T10:00"), ("@Daily", "2026-05-05"),
    ],
)  # fmt: skip
@spec("contract 7.2")
def test_name_stands_for_its_expression(name: str, expected: str) -> None:
    assert next_run(name) == at(expected)
    assert next_run(ALIASES[name.lower()]) == at(expected)


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 13 * FRI", [8, 13, 15, 22, 29]),
        ("0 0 */10 * SUN", [10, 11, 17, 21, 24, 31]),
        ("0 0 * * SUN", [10, 17, 24, 31]),
        ("0 0 */1 * SUN", [10, 17, 24, 31]),
        ("0 0 20 * */1", [20]),
        ("0 0 L * 1#2", [11, 31]),
        ("0 0 20W * SAT", [9, 16, 20, 23, 30]),
    ],
)
@spec("contract 7.2")
def test_day_and_weekday_both_restricted_either_one_matches(
    expression: str, days: list[int]
) -> None:
    found = runs(parse(expression, "UTC"), NOW, 20)

    assert [day.day for day in found if (day.year, day.month) == (2026, 5)] == days


@pytest.mark.parametrize(
    ("expression", "length"),
    [
        ("@every 1s", timedelta(seconds=1)),
        ("@every 90s", timedelta(seconds=90)),
        ("@every 1h30m", timedelta(minutes=90)),
        ("@every 1h2m3s4ms", timedelta(hours=1, minutes=2, seconds=3, milliseconds=4)),
        ("@every 1500ms", timedelta(milliseconds=1500)),
        ("@every 5m500ms", timedelta(minutes=5, milliseconds=500)),
        ("@EVERY  8784h", timedelta(days=366)),
    ],
)
@spec("contract 7.2")
def test_every_is_an_interval_of_real_time(expression: str, length: timedelta) -> None:
    schedule = parse(expression, NEW_YORK)

    assert isinstance(schedule, Interval)
    assert next_run(expression, NEW_YORK) == NOW + length


@pytest.mark.parametrize(
    "expression",
    [
        "", " ", "*", "* * * *", "* * * * * *", "0 * * * * *", "0 0 0 0 0 0 0", "not a valid cron",
        "99 25 32 13 8", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *",
        "* * * 13 *", "* * * * 8", "-1 * * * *", "*/0 * * * *", "1/0 * * * *", "*/-1 * * * *",
        "*/ * * * *", "1-1/ * * * *", "1-1/x * * * *", "1-1/0 * * * *", "/2 * * * *", "5-1 * * * *",
        "1-2-3 * * * *", "1- * * * *", "1,,2 * * * *",
        ", * * * *", "1.5 * * * *", "a * * * *", "MON * * * *", "* * JAN * *", "* * * MON *",
        "* * * * JAN", "* * * * FRI-SUN", "* * * * L", "* * * * 8L", "* * * * FRIL",
        "* * * * 1#0", "* * * * 1#6", "* * * * 1#", "* * * * #1", "* * * * 8#1", "* L * * *",
        "* * L/2 * *", "* * L-3 * *", "* * W * *", "* * 0W * *", "* * 32W * *", "* * 1W/2 * *",
        "* * 1-5W * *", "* * 1 * 1W", "* * ? * *", "0 0 31 2 *", "0 0 30 FEB *", "0 0 31 4,6 *",
        "@reboot", "@every", "@every 1", "@every s", "@every 0s", "@every 999ms", "@every -1s",
        "@every 1.5h", "@every 1m1h", "@every 1h 1m", "@every 1d", "@every 8785h",
        "@every 99999999999s", "@every 1s1s", "@daily 1", "@", "@dayly", "9" * 250 + " * * * *",
        "*\n*\n*\n*", "* * * * \uff0a", "\u0661 * * * *", "* * * * fr\u0131", "* " * 200, "\0",
    ],
)  # fmt: skip
@spec("contract 7.2")
def test_wrong_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"^(has a|must|cannot)"):
        parse(expression, "UTC")


@pytest.mark.parametrize("expression", ["0 0 30W 2 *", "0 0 31W 4 *"])
@spec("contract 7.2")
def test_date_that_never_occurs_has_no_run(expression: str) -> None:
    assert next_run(expression) is None


@spec("contract 7.2")
def test_times_that_the_clocks_always_skip_never_run() -> None:
    assert next_run("30 2 * 3 SUN#2", NEW_YORK) is None
    assert next_run("30 2 * 3 SUN#2", "UTC") == at("2027-03-14T02:30")


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5"])
@spec("contract 7.1")
def test_zone_of_the_database_is_taken(name: str) -> None:
    assert check_zone(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "utc", "EST", "EST5EDT", "CET", "GMT", "+02:00", "UTC+2", "Europe/Atlantis",
     "europe/berlin", "../etc/passwd", "/Europe/Berlin", "Europe/", "Europe", "localtime", 5, None,
     ["UTC"], "\0/"],
)  # fmt: skip
@spec("contract 7.1")
def test_other_zone_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="must be UTC or the IANA name"):
        check_zone(name)


def test_expressions_are_said_in_english_where_there_are_words() -> None:
    assert describe("@daily") == "At 00:00 every day"
    assert describe("30 9 * * mon-fri") == "At 09:30 on Monday through Friday"
    assert describe("@every 5m") is None
    assert describe("0 0 15W * *") is None


# --- 7.3: clocks ----------------------------------------------------------------------------------


@spec("contract 7.3")
def test_local_time_that_does_not_exist_does_not_run() -> None:
    before = at("2026-03-08T00:00")

    assert next_run("30 2 * * *", NEW_YORK, before) == at("2026-03-09T06:30")
    assert plan(parse("30 2 * * *", NEW_YORK), before).due_at == at("2026-03-08T07:00")  # type: ignore[union-attr]


@spec("contract 7.3")
def test_every_skipped_time_of_a_jump_is_told_once() -> None:
    schedule = parse("0,20,40 2,3 * * *", NEW_YORK)
    coming = plan(schedule, at("2026-03-08T00:00"))
    assert coming is not None
    assert (coming.due_at, coming.next_run_at) == (at("2026-03-08T07:00"),) * 2

    found = skipped_until(schedule, coming.due_at, coming.due_at)

    locals_ = [datetime(2026, 3, 8, 2, minute) for minute in (0, 20, 40)]  # noqa: DTZ001
    assert found == [Occurrence(coming.due_at, local) for local in locals_]
    later = plan(schedule, coming.due_at)
    assert later is not None
    assert later.due_at == later.next_run_at == at("2026-03-08T07:20")


@spec("contract 7.3")
def test_local_time_that_exists_twice_runs_at_the_first() -> None:
    found = runs(parse("30 1 * * *", NEW_YORK), at("2026-11-01T00:00"), 2)

    assert found == [at("2026-11-01T05:30"), at("2026-11-02T06:30")]


@spec("contract 7.3")
def test_nothing_runs_in_the_second_of_two_equal_hours() -> None:
    in_second = at("2026-11-01T06:10")

    assert next_run("*/15 1 * * *", NEW_YORK, in_second) == at("2026-11-02T06:00")


@pytest.mark.parametrize("hour", ["*", "*/1", "0-23"])
@spec("contract 7.3")
def test_every_hour_follows_real_time(hour: str) -> None:
    schedule = parse(f"30 {hour} * * *", NEW_YORK)

    autumn = runs(schedule, at("2026-11-01T05:00"), 3)
    spring = runs(schedule, at("2026-03-08T06:00"), 3)

    assert autumn == [at(f"2026-11-01T0{hour}:30") for hour in (5, 6, 7)]
    assert spring == [at(f"2026-03-08T0{hour}:30") for hour in (6, 7, 8)]
    assert skipped_until(schedule, at("2026-03-08T06:45"), at("2026-03-08T07:15")) == []


@spec("contract 7.3")
def test_half_an_hour_of_shift_is_followed_in_real_time() -> None:
    autumn = runs(parse("45 * * * *", LORD_HOWE), at("2026-04-04T14:00"), 3)

    # local times: 01:45 +11:00, 01:45 +10:30, 02:45 +10:30
    assert autumn == [at("2026-04-04T14:45"), at("2026-04-04T15:15"), at("2026-04-04T16:15")]


@spec("contract 7.3")
def test_interval_knows_no_clocks() -> None:
    found = runs(parse("@every 1h", NEW_YORK), at("2026-03-08T05:30"), 3)

    assert found == [at(f"2026-03-08T0{hour}:30") for hour in (6, 7, 8)]


@spec("contract 7.3")
def test_day_that_a_zone_left_out_is_skipped() -> None:
    schedule = parse("0 12 30 * *", "Pacific/Apia")

    coming = plan(schedule, at("2011-12-29T00:00"))

    assert coming is not None
    assert coming.due_at == at("2011-12-30T10:00")  # the clocks skipped to the 31st
    assert coming.next_run_at == at("2012-01-29T22:00")


# --- against an oracle ----------------------------------------------------------------------------

DAYS, MONTHS = range(1, 32), range(1, 13)
ZONES = [
    "UTC", NEW_YORK, BERLIN, LORD_HOWE, "America/Santiago", "Africa/Cairo", "Asia/Beirut",
    "Asia/Kolkata", "Asia/Tehran", "America/St_Johns", "Pacific/Chatham", "Africa/Casablanca",
    "America/Havana", "America/Asuncion", "Antarctica/Troll", "Europe/London", "Pacific/Apia",
    "America/Sao_Paulo", "Asia/Gaza",
]  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A cron field as text and as its values, made together without the parser."""

    text: str
    values: frozenset[int]


@st.composite
def fields(draw: st.DrawFn, values: range) -> Field:
    number = st.sampled_from(values)
    kind = draw(st.sampled_from(["any", "one", "list", "range", "step", "range step"]))
    first, second = sorted((draw(number), draw(number)))
    step = draw(st.integers(1, len(values)))
    match kind:
        case "any":
            return Field("*", frozenset(values))
        case "one":
            return Field(f"{first:02}", frozenset({first}))
        case "list":
            chosen = draw(st.lists(number, min_size=1, max_size=4))
            return Field(",".join(map(str, chosen)), frozenset(chosen))
        case "range":
            return Field(f"{first}-{second}", frozenset(range(first, second + 1)))
        case "step":
            return Field(f"{first}/{step}", frozenset(range(first, values.stop, step)))
        case _:
            return Field(f"{first}-{second}/{step}", frozenset(range(first, second + 1, step)))


def last_day(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def working_day(day: date, number: int) -> bool:
    """Return whether `day` is the working day of its month that is nearest to `number`."""
    if number > last_day(day):
        return False
    days = [n for n in range(1, last_day(day) + 1) if day.replace(day=n).weekday() < 5]
    distance = min(abs(n - number) for n in days)
    nearest = [n for n in days if abs(n - number) == distance]
    return day.day == nearest[0]


def nth(day: date) -> int:
    """Return which occurrence of its weekday a day is in its month, from 1."""
    return (day.day - 1) // 7 + 1


SPECIAL_DAYS: dict[str, Callable[[date], bool]] = {
    "L": lambda day: day.day == last_day(day),
    "1W": lambda day: working_day(day, 1),
    "15W": lambda day: working_day(day, 15),
    "30W": lambda day: working_day(day, 30),
    "31W": lambda day: working_day(day, 31),
}
SPECIAL_WEEKDAYS: dict[str, Callable[[date], bool]] = {
    "0L": lambda day: day.isoweekday() == 7 and day.day + 7 > last_day(day),
    "3L": lambda day: day.isoweekday() == 3 and day.day + 7 > last_day(day),
    "6L": lambda day: day.isoweekday() == 6 and day.day + 7 > last_day(day),
    "1#1": lambda day: day.isoweekday() == 1 and nth(day) == 1,
    "5#5": lambda day: day.isoweekday() == 5 and nth(day) == 5,
    "7#3": lambda day: day.isoweekday() == 7 and nth(day) == 3,
}


@dataclass(frozen=True)
class Case:
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    zone: str

    @property
    def text(self) -> str:
        parts = (self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(part.text for part in parts)

    def has_day(self, day: date) -> bool:
        if day.month not in self.month.values:
            return False
        special = SPECIAL_DAYS.get(self.day.text)
        in_month = special(day) if special else day.day in self.day.values
        special = SPECIAL_WEEKDAYS.get(self.weekday.text)
        in_week = special(day) if special else day.isoweekday() % 7 in self.weekday.values
        if "*" in (self.day.text, self.weekday.text):
            return in_month and in_week
        return in_month or in_week

    def has(self, local: datetime) -> bool:
        return (
            local.minute in self.minute.values
            and local.hour in self.hour.values
            and self.has_day(local.date())
        )


def special(names: Iterable[str]) -> st.SearchStrategy[Field]:
    return st.sampled_from(sorted(names)).map(lambda name: Field(name, frozenset()))


EARLY_HOURS = st.sets(st.integers(0, 3), min_size=1).map(
    lambda hours: Field(",".join(map(str, hours)), frozenset(hours))
)  # the hours of clock changes
WEEKDAYS = fields(range(8)).map(
    lambda field: Field(field.text, frozenset(n % 7 for n in field.values))
)
CASES = st.builds(
    Case,
    fields(range(60)),
    st.one_of(fields(range(24)), EARLY_HOURS),
    st.one_of(fields(DAYS), special(SPECIAL_DAYS)),
    st.one_of(st.just(Field("*", frozenset(MONTHS))), fields(MONTHS)),
    st.one_of(WEEKDAYS, special(SPECIAL_WEEKDAYS)),
    st.sampled_from(ZONES),
)


def jumps(zone: str) -> list[datetime]:
    """Return the minutes at which the clocks of a zone change, from 2010 to 2026."""
    tz, found = ZoneInfo(zone), []
    moment, end = datetime(2010, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    before = moment.astimezone(tz).utcoffset()
    while moment < end:
        moment += timedelta(days=1)
        if (offset := moment.astimezone(tz).utcoffset()) != before:
            early = moment - timedelta(days=1)
            while early.astimezone(tz).utcoffset() == before:
                early += timedelta(minutes=1)
            found.append(early)
        before = offset
    return found


JUMPS = {zone: jumps(zone) or [NOW.replace(second=0, microsecond=0)] for zone in ZONES}


def minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield every minute from `start` to `end`."""
    while start < end:
        yield start
        start += timedelta(minutes=1)


def oracle(case: Case, start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Return runs and skipped times from `start` to `end` by checking every minute."""
    tz = ZoneInfo(case.zone)
    real = [(moment, moment.astimezone(tz)) for moment in minutes(start, end)]
    runs = [(moment, local) for moment, local in real if case.has(local.replace(tzinfo=None))]
    if case.hour.values == frozenset(range(24)):
        return [(moment, "run") for moment, _ in runs]
    found = [(moment, 1, "run") for moment, local in runs if local.fold == 0]
    for (_, before), (moment, local) in pairwise(real):
        missing = minutes(before.replace(tzinfo=None), local.replace(tzinfo=None))
        found += [
            (moment, 0, f"skip {gone}") for gone in islice(missing, 1, None) if case.has(gone)
        ]
    return [(moment, what) for moment, _, what in sorted(found)]


@settings(max_examples=examples(250), deadline=None, derandomize=True, database=None)
@given(CASES, st.data())
@example(
    Case(Field("30", frozenset({30})), Field("2", frozenset({2})), Field("*", frozenset(DAYS)),
         Field("*", frozenset(MONTHS)), Field("*", frozenset(range(7))), NEW_YORK), None,
)  # fmt: skip
@spec("contract 7.3")
def test_times_around_clock_changes_equal_those_of_every_minute(
    case: Case, data: st.DataObject | None
) -> None:
    jump = JUMPS[case.zone][-1] if data is None else data.draw(st.sampled_from(JUMPS[case.zone]))
    before = timedelta(minutes=720 if data is None else data.draw(st.integers(1, 1500)))
    start = jump - before
    end = jump + timedelta(hours=30)
    try:
        schedule = parse(case.text, case.zone)
    except ValueError:  # the date does not exist
        assert not any(case.has_day(date(2028, 1, 1) + timedelta(days=n)) for n in range(366))
        return

    found: list[tuple[datetime, str]] = []
    for one in schedule.occurrences(start - timedelta(microseconds=1)):
        if one.at >= end:
            break
        found.append((one.at, f"skip {one.skipped}" if one.skipped else "run"))

    assert found == oracle(case, start, end), case.text


@settings(max_examples=examples(100), deadline=None, derandomize=True, database=None)
@given(CASES, st.datetimes(datetime(2024, 1, 1), datetime(2040, 1, 1)))  # noqa: DTZ001
@spec("contract 7.3")
def test_next_run_of_any_moment_is_the_first_of_the_days_that_match(
    case: Case, moment: datetime
) -> None:
    after = moment.replace(tzinfo=UTC)
    try:
        coming = plan(parse(case.text, case.zone), after)
    except ValueError:
        coming = None
    start = after.astimezone(ZoneInfo(case.zone)).date()
    matching = (day for n in range(366 * 12) if case.has_day(day := start + timedelta(days=n)))
    days = list(islice(matching, 4))

    if coming is None:
        assert not days
    elif days:  # otherwise the next run lies behind the last matching day that was examined
        local = coming.next_run_at.astimezone(ZoneInfo(case.zone))
        assert coming.due_at <= coming.next_run_at
        assert coming.next_run_at > after
        assert case.has(local.replace(tzinfo=None))
        assert local.date() in days
