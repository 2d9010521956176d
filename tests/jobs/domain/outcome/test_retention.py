"""Retention in the configuration of queues. Spec: contract 10.4, 10.6, 28.3, D46."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.lanes.queues import merge
from jobs.domain.outcome.retention import (
    DAY_MS,
    Retention,
    RetentionError,
    parse_age,
    parse_retention,
)
from jobs.domain.wire.durations import format_duration
from tests.spec import spec

DEFAULT = Retention()


@spec("contract 10.6")
def test_the_defaults_are_those_of_the_contract() -> None:
    assert parse_retention(None, DEFAULT) == parse_retention({}, DEFAULT) == DEFAULT
    assert (DEFAULT.completed, DEFAULT.cancelled, DEFAULT.discarded) == (
        7 * DAY_MS, 7 * DAY_MS, 30 * DAY_MS,
    )  # fmt: skip
    assert (DEFAULT.dead_letter, DEFAULT.dead_letter_jobs) == (180 * DAY_MS, 10_000)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"completed": "P1D"}, {"completed": DAY_MS}),
        ({"cancelled": "PT1.5S", "discarded": "PT1M"}, {"cancelled": 1500, "discarded": 60_000}),
        ({"completed": None}, {"completed": None}),
        ({"completed": "0"}, {"completed": None}),
        ({"completed": 0}, {"completed": None}),
        ({"completed": "PT0S"}, {"completed": None}),
        ({"dead_letter": "P9D"}, {"dead_letter": 9 * DAY_MS}),
        ({"dead_letter": "0"}, {"dead_letter": None}),
        ({"dead_letter": None}, {"dead_letter": None}),
        ({"dead_letter": {}}, {}),
        ({"dead_letter": {"max_age": "P9D"}}, {"dead_letter": 9 * DAY_MS}),
        ({"dead_letter": {"max_age": None}}, {"dead_letter": None}),
        ({"dead_letter": {"max_age": 0}}, {"dead_letter": None}),
        ({"dead_letter": {"max_count": 7}}, {"dead_letter_jobs": 7}),
        ({"dead_letter": {"max_count": 7.0}}, {"dead_letter_jobs": 7}),
        ({"dead_letter": {"max_count": None}}, {"dead_letter_jobs": None}),
        ({"dead_letter": {"max_count": 0}}, {"dead_letter_jobs": None}),
        (
            {"dead_letter": {"max_age": "P1D", "max_count": 1}},
            {"dead_letter": DAY_MS, "dead_letter_jobs": 1},
        ),
    ],
)
@spec("contract 28.3")
def test_what_a_queue_asks_for_wins_over_the_defaults(
    raw: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = parse_retention(raw, DEFAULT)

    members = {name: getattr(found, name) for name in Retention.__slots__}
    assert members == {name: getattr(DEFAULT, name) for name in Retention.__slots__} | expected


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], ""),
        ("P7D", ""),
        ({"completd": "P7D"}, "completd"),
        ({"completed": "7 days"}, "completed"),
        ({"completed": 7}, "completed"),
        ({"completed": False}, "completed"),
        ({"completed": "P101Y"}, "completed"),
        ({"cancelled": []}, "cancelled"),
        ({"discarded": "-P1D"}, "discarded"),
        ({"dead_letter": "soon"}, "dead_letter.max_age"),
        ({"dead_letter": []}, "dead_letter.max_age"),
        ({"dead_letter": {"max": 1}}, "dead_letter.max"),
        ({"dead_letter": {"max_age": True}}, "dead_letter.max_age"),
        ({"dead_letter": {"max_count": -1}}, "dead_letter.max_count"),
        ({"dead_letter": {"max_count": True}}, "dead_letter.max_count"),
        ({"dead_letter": {"max_count": "7"}}, "dead_letter.max_count"),
        ({"dead_letter": {"max_count": 1.5}}, "dead_letter.max_count"),
        ({"dead_letter": {"max_count": 10**13}}, "dead_letter.max_count"),
    ],
)
@spec("contract 28.3")
def test_a_retention_that_makes_no_sense_is_refused_naming_the_field(raw: Any, field: str) -> None:
    with pytest.raises(RetentionError) as caught:
        parse_retention(raw, DEFAULT)

    assert caught.value.field == field


@pytest.mark.parametrize(
    "raw",
    [
        {"dead_letter": {"max_age": None, "max_count": None}},
        {"dead_letter": {"max_age": "0", "max_count": 0}},
    ],
)
@spec("contract 28.3")
def test_the_dead_letter_is_bounded_by_age_or_by_number(raw: Any) -> None:
    with pytest.raises(RetentionError, match="must be bounded") as caught:
        parse_retention(raw, DEFAULT)

    assert caught.value.field == "dead_letter"


@given(st.integers(1, 10**9))
def test_an_age_is_any_duration(ms: int) -> None:
    assert parse_age(format_duration(ms)) == ms


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_else_is_refused_in_words(value: Any) -> None:
    raw = {"completed": value, "dead_letter": {"max_age": value, "max_count": value}}
    with suppress(RetentionError):
        assert isinstance(parse_retention(raw, DEFAULT), Retention)


@pytest.mark.parametrize(
    "given_by_client",
    [
        "P3D",
        {"completed": "7d", "cancelled": 0},
        {"dead_letter": "P1D"},
        {"dead_letter": {"max_age": None, "max_count": 5}},
        {"dead_letter": {"max_count": 0}},
    ],
)
@spec("contract 10.4")
def test_what_the_configuration_stores_is_read(given_by_client: Any) -> None:
    stored = merge({}, {"retention": given_by_client}, strict=True)["retention"]

    assert isinstance(parse_retention(stored, DEFAULT), Retention)
