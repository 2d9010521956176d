"""Time formats in JSON. Spec: contract 1.4, D8."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.times import format_time, parse_time, read_time

NOON = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-05-04T12:00:00Z", NOON),
        ("2026-05-04t12:00:00z", NOON),
        ("2026-05-04T12:00:00+00:00", NOON),
        ("2026-05-04T12:00:00-00:00", NOON),
        ("2026-05-04T14:00:00+02:00", NOON),
        ("2026-05-04T07:30:00-04:30", NOON),
        ("2026-05-05T01:00:00+13:00", NOON),
        ("2026-05-04T12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-05-04T12:00:00.000001Z", NOON + timedelta(microseconds=1)),
        ("2026-05-04T12:00:00.123456789Z", NOON + timedelta(microseconds=123_456)),
    ],
)
def test_read_returns_utc_and_cuts_below_a_microsecond(text: str, at: datetime) -> None:
    found = read_time(text)

    assert found == at
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-05-04", "2026-05-04T12:00:00", "2026-05-04 12:00:00Z", "2026-05-04T12:00Z",
        "2026-05-04T12Z", "20260504T120000Z", "2026-W19-1T12:00:00Z", "2026-02-30T12:00:00Z",
        "2026-13-01T12:00:00Z", "2026-05-04T25:00:00Z", "2026-05-04T12:60:00Z",
        "2026-05-04T12:00:00.Z", "2026-05-04T12:00:00+0200", "2026-05-04T12:00:00+02",
        "2026-05-04T12:00:00+25:00", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00",
        "9999-12-31T23:59:59-10:00", "2026-05-04T12:00:00Z ", "2026-05-04T12:00:00Z\n",
        "+PT1H", "now", [],
        "\u0662\u0660\u0662\u0666-05-04T12:00:00Z", 1_777_888_999, 1.5, None, True,
    ],
)  # fmt: skip
def test_read_refuses_anything_else(text: object) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        read_time(text)


def test_parse_names_the_field() -> None:
    with pytest.raises(InvalidRequest, match="since must be an RFC 3339 time") as refused:
        parse_time("yesterday", "since")

    assert refused.value.details["received"] == "yesterday"


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (NOON, "2026-05-04T12:00:00Z"),
        (NOON + timedelta(microseconds=1), "2026-05-04T12:00:00.000001Z"),
        (NOON + timedelta(milliseconds=50), "2026-05-04T12:00:00.050000Z"),
        (datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC), "2099-12-31T23:59:59Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_format_has_six_digits_or_none(at: datetime, text: str) -> None:
    assert format_time(at) == text


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
SAFE = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=OFFSETS)  # noqa: DTZ001


@given(SAFE)
def test_what_is_written_is_read_back(at: datetime) -> None:
    assert read_time(format_time(at.astimezone(UTC))) == at


@given(SAFE)
def test_any_offset_is_read(at: datetime) -> None:
    assert read_time(at.isoformat()) == at
