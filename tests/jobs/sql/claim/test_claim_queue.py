"""A claim begins with a queue: pauses, the queue's limit, lanes that open, low-water marks."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    Facts,
    add_lane,
    add_limit,
    add_queue,
    lane_facts,
    request,
    state,
    step,
)

pytestmark = pytest.mark.django_db


def turned(asked: Facts | None = None, *, most: int | None = None, **known: Any) -> Facts:
    """Begin with queue `q`."""
    before = state(**{"quota": None, "queue": None, "stored_queue": None, **known})
    return step("ojs_claim_queue", request(**(asked or {})), before, 1, most)


@pytest.mark.parametrize(("need", "most", "quota"), [(9, None, 9), (9, 4, 4), (2, 4, 2)])
def test_a_queue_may_give_what_the_claim_needs_and_the_rotation_allows(
    need: int, most: int | None, quota: int
) -> None:
    add_queue()
    add_lane(1)

    found = turned(need=need, most=most)

    assert (found["queue"], found["stored_queue"], found["quota"]) == ("q", "q", quota)


@pytest.mark.parametrize("paused_at", [None, "2026-01-01"])
def test_a_paused_or_unknown_queue_gives_nothing(paused_at: str | None) -> None:
    if paused_at:
        add_queue(paused_at=paused_at)

    assert turned()["quota"] == 0


def test_the_limit_of_a_queue_bounds_it_and_is_noted_for_its_jobs() -> None:
    add_queue(limit_id=add_limit(7, kind=1, concurrency=2))
    add_lane(1)

    found = turned()

    assert (found["quota"], found["queue_limits"], found["must_not_wait"]) == (2, [7], True)


def test_a_limit_that_is_reached_closes_the_queue_until_it_opens() -> None:
    add_queue(limit_id=add_limit(7, kind=1, concurrency=2, rate=0, rate_ms=1000))

    found = turned()

    assert (found["quota"], found["queue_limits"]) == (0, None)


def test_limits_found_reached_before_are_closed_here_too() -> None:
    add_queue()

    found = turned(reached=[7], closed=[7, 8], busy_rank=0, has_other_rank=True)

    assert (found["closed"], found["busy_rank"], found["has_other_rank"]) == ([7], None, False)


def test_a_lane_whose_limit_opened_by_itself_is_offered_again() -> None:
    add_queue()
    add_lane(1, blocked_by=7, blocked_until="2025-12-31", vt=2)
    add_lane(2, blocked_by=7, blocked_until="2026-01-02")

    found = turned()

    assert found["must_not_wait"]
    assert (lane_facts(1)["blocked_by"], lane_facts(1)["vt"]) == (None, 2)
    assert lane_facts(2)["blocked_by"] == 7


def test_a_queue_without_such_a_lane_locks_nothing() -> None:
    add_queue()
    add_lane(1)

    assert not turned()["must_not_wait"]


def test_lanes_of_a_tenant_are_found_by_their_keys_in_its_namespace() -> None:
    add_queue()
    add_lane(1, tenant="a", stored_queue="a:q")
    add_lane(2, tenant="b")

    found = turned({"tenant": "a"})

    assert (found["tenant_lanes"], found["stored_queue"], found["stored_queues"]) == (
        [1],
        "a:q",
        ["a:q"],
    )


@pytest.mark.parametrize(("rank", "is_hinted"), [(None, False), (0, True), (1, False)])
def test_a_low_water_mark_holds_unless_a_lane_of_higher_priority_woke(
    rank: int | None, is_hinted: bool
) -> None:
    add_queue()
    add_lane(1)

    found = turned({"low_ranks": [rank], "low_vts": [0]})

    assert found["is_hinted"] == is_hinted
