"""The parts of `ojs_explain`. Another test compares the whole with claims in random stores."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import Facts, add_lane, add_limit, add_queue, rows, value

pytestmark = pytest.mark.django_db

LANE = "(SELECT l FROM ojs_lane AS l WHERE l.id = %s)"


def order(lane: int, most: int = 9) -> list[tuple[Any, ...]]:
    """Return the lanes that claims take before or with a lane."""
    return rows(
        f"SELECT id, vt, reopens FROM ojs_explain_lanes({LANE}, %s, now())",  # noqa: S608
        lane, most,
    )  # fmt: skip


def others(lane: int, seq: int, own: int = 0, most: int = 99) -> Facts:
    """Return the counts of jobs of other lanes before a job."""
    found: Facts = value(f"ojs_explain_others({LANE}, %s, %s, %s, 9, now())", lane, seq, own, most)
    return found


def test_lanes_come_by_rank_and_virtual_time() -> None:
    add_lane(1, vt=2)
    add_lane(2, vt=1)
    add_lane(3, vt=9, priority=4)
    add_lane(4, priority=-4)
    add_lane(5, paused=True)

    assert order(1) == [(3, 9, False), (2, 1, False), (1, 2, False)]


def test_a_lane_that_the_next_claim_opens_joins_the_others() -> None:
    add_lane(1, vt=5)
    add_lane(2, vt=0, blocked_by=7, blocked_until="2020-01-01")

    assert order(1) == [(1, 5, False), (2, 5, True)]


def test_a_lane_of_a_scope_comes_where_the_claim_catches_it_up_to() -> None:
    add_lane(1, vt=1, scope="s", tenant="a")
    add_lane(2, vt=0, scope="s", tenant="b")
    rows("INSERT INTO ojs_served (scope, rank, tenant, cost) VALUES ('s', 0, 'b', 4)")

    assert order(1) == [(1, 1, False), (2, 4, False)]


def test_jobs_of_other_lanes_count_up_to_the_virtual_time_of_the_job() -> None:
    add_lane(1, [1, 2], vt=2)
    add_lane(2, [11, 12, 13, 14, 15], vt=0)

    assert others(1, 1) == {"others": 3, "more": False, "tied": 0}
    assert others(1, 1, most=2) == {"others": 2, "more": True, "tied": 0}


def test_a_limit_bounds_what_comes_before() -> None:
    add_limit(7, concurrency=1)
    add_lane(1, [1], vt=2)
    add_lane(2, [11, 12, 13], vt=0, limits=[7])

    assert others(1, 1)["others"] == 1


def test_ordered_lanes_count_what_is_older() -> None:
    add_lane(1, [5], ordered=True, vt=5)
    add_lane(2, [3, 4, 6], ordered=True, vt=3)

    assert others(1, 5)["others"] == 2


def test_a_lane_that_opens_at_the_same_time_is_tied() -> None:
    add_lane(1, [1], vt=5)
    add_lane(2, [2], vt=5, blocked_by=7, blocked_until="2020-01-01")

    assert others(1, 1) == {"others": 0, "more": False, "tied": 1}


def test_facts_name_the_lane_and_what_holds_it() -> None:
    add_queue(paused_at="2026-01-01")
    add_lane(1, [1], blocked_by=7, limits=[add_limit(7, concurrency=0)])

    found: Facts = value(
        "ojs_explain_facts((SELECT id FROM ojs_job), 'q', (SELECT u FROM ojs_queue AS u),"
        " (SELECT k FROM ojs_lane_key AS k), (SELECT l FROM ojs_lane AS l), false, 1000, 60, now())"
    )

    assert (found["is_known"], found["is_blocked"], found["is_offered"]) == (True, True, False)
    assert [(one["id"], one["room"], one["blocks"]) for one in found["limits"]] == [(7, 0, True)]
