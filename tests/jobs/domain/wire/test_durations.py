"""ISO 8601 durations. Spec: contract 5.2."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.wire.durations import LONGEST_MS, format_duration, in_words, parse_duration

SPEC = re.compile(
    r"^P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$", re.ASCII
)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT1S", 1000),
        ("PT0S", 0),
        ("PT0.5S", 500),
        ("PT0.0015S", 2),
        ("PT90S", 90_000),
        ("PT1M30S", 90_000),
        ("PT1H", 3_600_000),
        ("PT36H", 129_600_000),
        ("P1D", 86_400_000),
        ("P1DT6H", 108_000_000),
        ("P1W", 604_800_000),
        ("P1M", 30 * 86_400_000),
        ("P1Y", 365 * 86_400_000),
        ("P1Y2M3W4DT5H6M7.008S", 450 * 86_400_000 + 5 * 3_600_000 + 6 * 60_000 + 7_008),
    ],
)
def test_parse_of_a_legal_text_returns_milliseconds(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "", "P", "PT", "1s", "PT5", "T5S", "pt5s", "PT5s", "-PT5S", "+PT5S", "PT-5S", "P1.5D",
        "PT1.5M", "PT.5S", "PT5.S", "P1DT", "P1D1W", "PT1S1M", "P 1D", "PT1S ", " PT1S", "PT1S\n",
        "P1H", "PT1D", "PT\u0661S", "P1", "10", 10, 1.5, None, True, ["PT1S"], {},
    ],
)  # fmt: skip
def test_parse_of_anything_else_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="ISO 8601 duration"):
        parse_duration(text)


def test_parse_takes_a_hundred_years_and_no_more() -> None:
    assert parse_duration("P100Y") == LONGEST_MS

    with pytest.raises(ValueError, match="at most 100 years"):
        parse_duration("P100YT1S")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.001S"),
        (500, "PT0.5S"),
        (1000, "PT1S"),
        (90_000, "PT1M30S"),
        (300_000, "PT5M"),
        (3_600_000, "PT1H"),
        (3_601_000, "PT1H1S"),
        (86_400_000, "P1D"),
        (86_400_500, "P1DT0.5S"),
        (7 * 86_400_000, "P7D"),
        (400 * 86_400_000 + 60_000, "P400DT1M"),
    ],
)
def test_format_uses_the_largest_whole_units_up_to_days(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@given(st.integers(0, LONGEST_MS))
def test_what_is_written_is_read_back(ms: int) -> None:
    text = format_duration(ms)

    assert SPEC.match(text)
    assert parse_duration(text) == ms


PART = st.integers(0, 99).map(str)
FACTORS_MS = [365 * 86_400_000, 30 * 86_400_000, 7 * 86_400_000, 86_400_000, 3_600_000, 60_000]


@given(st.lists(st.one_of(PART, st.sampled_from([*"PTYMWDHS.", "PT"])), max_size=12).map("".join))
def test_parse_takes_what_the_contracts_pattern_takes(text: str) -> None:
    match = SPEC.match(text)
    if match is None:
        with pytest.raises(ValueError, match="ISO 8601 duration"):
            parse_duration(text)
        return
    *dates, _time, hours, minutes, seconds, _fraction = match.groups()
    whole = [int((part or "0_")[:-1]) for part in (*dates, hours, minutes)]
    ms = sum(n * factor for n, factor in zip(whole, FACTORS_MS, strict=True))
    ms += round(float((seconds or "0_")[:-1]) * 1000)
    if ms <= LONGEST_MS and not re.search(r"\d{9}", text):
        assert parse_duration(text) == ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"), (999, "999 ms"), (1_500, "1.5 s"), (12_000, "12 s"), (90_000, "1 min 30 s"),
        (240_000, "4 min"), (4_380_000, "1 h 13 min"), (7_200_000, "2 h"), (93_600_000, "1 d 2 h"),
        (260_000_000, "3 d"),
    ],
)  # fmt: skip
def test_a_duration_in_words_has_its_two_largest_units(ms: float, text: str) -> None:
    assert in_words(ms) == text
