"""The limits of lanes bound the jobs of each pick."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    OF_STATE,
    Facts,
    add_lane,
    add_limit,
    lane_facts,
    pick,
    rows,
    state,
    value,
)

pytestmark = pytest.mark.django_db


def capped(planned: list[int], *picks: Facts, **known: Any) -> Facts:
    """Call ojs_cap_limits with picks; returns the changed state."""
    lanes = [one["lane"] for one in picks]
    found: Facts = value(
        f"ojs_cap_limits({OF_STATE})", state(picks=picks, lanes=lanes, planned=planned, **known)
    )
    return found


def limited(lane: int, *limits: int) -> Facts:
    """Store a lane with limits; returns it as a pick."""
    add_lane(lane, limits=list(limits))
    return pick(lane, is_limited=True, lane_ctid=True)


def free(lane: int) -> Facts:
    """Store a lane without limits; returns it as a pick."""
    add_lane(lane)
    return pick(lane, lane_ctid=True)


def test_a_lane_gives_no_more_than_its_tightest_limit_has_room_for() -> None:
    add_limit(7, concurrency=5)
    add_limit(8, concurrency=2)

    found = capped([9], limited(1, 7, 8))

    assert (found["planned"], found["planned_total"]) == ([2], 2)


def test_lanes_of_one_limit_share_its_room_in_their_order() -> None:
    add_limit(7, concurrency=5)

    found = capped([3, 4, 6], limited(1, 7), limited(2, 7), free(3))

    assert (found["planned"], found["planned_total"]) == ([3, 2, 6], 11)


def test_a_limit_without_concurrency_bounds_nothing() -> None:
    add_limit(7)

    assert capped([9], limited(1, 7))["planned"] == [9]


def test_a_limit_that_is_reached_blocks_the_lane_and_is_closed() -> None:
    add_limit(7, concurrency=0)
    one = limited(1, 7)

    found = capped([4], one, reached=[6], closed=[6])

    assert (found["planned"], found["planned_total"]) == ([0], 0)
    assert (found["reached"], found["closed"]) == ([6, 7], [6, 7])
    assert lane_facts(1)["blocked_by"] == 7
    [(place,)] = rows("SELECT ctid::text FROM ojs_lane WHERE id = 1")
    assert found["picks"][0]["lane_ctid"] == place


def test_a_window_that_is_reached_says_when_it_opens() -> None:
    add_limit(7, gap_ms=60_000)
    one = limited(1, 7)
    rows("INSERT INTO ojs_start (limit_id, slot, at, jobs) VALUES (7, now(), now(), 1)")

    found = capped([4], one)

    assert found["reached_until"] is not None
    assert lane_facts(1)["blocked_until"] is not None


@pytest.mark.parametrize("policy", ["drop", "reschedule"])
def test_jobs_that_shall_not_wait_are_named_and_the_limit_stays_open(policy: str) -> None:
    add_limit(7, concurrency=0, on_limit=policy)

    found = capped([4], limited(1, 7))

    assert found["over_limit"] == [{"lane": 1, "jobs": 4, "limit": 7, "on_limit": policy}]
    assert (found["reached"], found["closed"]) == (None, None)


@pytest.mark.parametrize(("policy", "override"), [("wait", "drop"), ("drop", "wait")])
def test_an_override_decides_about_jobs_over_the_limit(policy: str, override: str) -> None:
    add_limit(7, concurrency=0, on_limit=policy)
    rows(
        "UPDATE ojs_limit SET override = %s::jsonb",
        f'{{"concurrency": 0, "on_limit": "{override}"}}',
    )

    found = capped([4], limited(1, 7))

    is_dropped = override == "drop"
    assert [one["on_limit"] for one in found["over_limit"] or []] == ["drop"] * is_dropped
    assert found["reached"] == (None if is_dropped else [7])


def test_a_lane_that_is_to_give_nothing_asks_no_limit() -> None:
    one = limited(1, 7)  # the limit does not exist

    assert capped([0], one)["planned"] == [0]
