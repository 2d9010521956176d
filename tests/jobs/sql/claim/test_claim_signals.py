"""The signals of a claim."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    OF_REQUEST,
    OF_STATE,
    Facts,
    add_lane,
    request,
    rows,
    state,
    value,
)

pytestmark = pytest.mark.django_db


def signals(turns: list[int] | None = None, asked: Facts | None = None, **known: Any) -> Any:
    """Return the signals of a claim."""
    return value(
        f"ojs_claim_signals({OF_REQUEST}, {OF_STATE}, %s::int[])",
        request(**(asked or {})), state(**known), turns,
    )  # fmt: skip


def test_a_claim_with_nothing_to_say_says_nothing() -> None:
    assert signals() is None
    assert signals([1, 1], need=0) is None


def test_turns_are_told_where_they_are_of_several_queues() -> None:
    assert signals([2, 1], need=0) == {"turns": [2, 1]}


def test_due_jobs_are_told_to_a_claim_that_needs_more() -> None:
    rows(
        "INSERT INTO ojs_later (id, lane_id, kind, due_at, attempt)"
        " VALUES (gen_random_uuid(), 1, 1, '2025-01-01', 0)"
    )

    assert signals() == {"due": True}
    assert signals(need=0) is None


def test_the_first_limit_to_open_is_told() -> None:
    add_lane(1, blocked_by=7, blocked_until="2000-01-01")
    add_lane(2, stored_queue="ns:q", queue="r", blocked_by=7, blocked_until="2999-01-01")

    assert signals()["opens_ms"] == 0
    assert signals(stored_queues=["ns:q"])["opens_ms"] > 10**12
    assert signals(stored_queues=["ns:q"], opens_at="2000-01-01T00:00:00Z")["opens_ms"] == 0


def test_what_hid_jobs_and_what_is_over_its_limit_is_told() -> None:
    over = [{"lane": 1, "jobs": 2, "limit": 7, "on_limit": "drop"}]

    assert signals(blocked_on=-3, over_limit=over) == {
        "due": False, "blocked_on": -3, "over_limit": over,
    }  # fmt: skip
