"""Times of the Python API, and their form on the wire."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from jobs.domain.wire.durations import parse_duration
from jobs.domain.wire.times import read_time
from ojs_tasks.times import duration, milliseconds, milliseconds_until, moment

BERLIN = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("given", "ms"),
    [(0, 0), (60, 60_000), (0.25, 250), (timedelta(minutes=2), 120_000), (1.0004, 1000)],
)
def test_a_span_is_a_timedelta_or_seconds(given: Any, ms: int) -> None:
    assert milliseconds(given, "timeout") == ms


@pytest.mark.parametrize(
    ("given", "kind", "problem"),
    [
        ("60", TypeError, "timeout must be a timedelta or a number of seconds, not '60'"),
        (True, TypeError, "not True"), (None, TypeError, "not None"),
        (datetime.now(UTC), TypeError, "timedelta"),
        (-1, ValueError, "timeout must not be negative: -1"),
        (timedelta(days=-1), ValueError, "negative"),
        (float("nan"), ValueError, "finite"), (float("inf"), ValueError, "finite"),
    ],
)  # fmt: skip
def test_anything_else_is_no_span(given: Any, kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        milliseconds(given, "timeout")


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        (60, "+PT60S"), (0.5, "+PT0.500S"), (timedelta(hours=1), "+PT3600S"),
        (datetime(2026, 5, 4, 9, 12, 30, tzinfo=UTC), "2026-05-04T09:12:30+00:00"),
        (datetime(2026, 5, 4, 11, 12, 30, tzinfo=BERLIN), "2026-05-04T09:12:30+00:00"),
        ("2026-05-04T09:12:30Z", "2026-05-04T09:12:30Z"), ("+PT5S", "+PT5S"),
    ],
)  # fmt: skip
def test_a_moment_is_a_time_or_a_span_from_the_enqueue(given: Any, wire: str) -> None:
    assert moment(given, "delay") == wire
    assert parse_duration(wire[1:]) if wire[0] == "+" else read_time(wire)  # the server reads it


@pytest.mark.parametrize(
    ("given", "kind", "problem"),
    [
        (datetime(2026, 5, 4), ValueError, "delay must have a time zone"),  # noqa: DTZ001
        (1_764_000_000, ValueError, "looks like a Unix timestamp"),
        (-1, ValueError, "negative"), (True, TypeError, "datetime, a timedelta or a number"),
        ([], TypeError, "datetime, a timedelta or a number"),
    ],
)  # fmt: skip
def test_anything_else_is_no_moment(given: Any, kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        moment(given, "delay")


@pytest.mark.parametrize(
    ("given", "wire"), [(90, "PT90S"), (timedelta(milliseconds=1), "PT0.001S"), ("PT5M", "PT5M")]
)
def test_a_duration_is_a_span_or_text(given: Any, wire: str) -> None:
    assert duration(given, "period") == wire
    assert parse_duration(wire) > 0


def test_a_time_in_the_past_is_no_wait() -> None:
    assert milliseconds_until(datetime(2026, 1, 1, tzinfo=UTC), "at") == 0


def test_the_wait_until_a_time_is_from_now() -> None:
    at = datetime.now(UTC) + timedelta(hours=1)

    assert 3_590_000 < milliseconds_until(at, "at") <= 3_600_000
