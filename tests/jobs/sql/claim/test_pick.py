"""The lanes that a claim picks by each rule. Locks of other claims: see test_held_locks.py."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    OF_STATE,
    Facts,
    add_lane,
    pick,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.django_db


def picked(
    rule: str = "ojs_pick_lanes", asked: Facts | None = None, *more: Any, **known: Any
) -> Facts:
    """Pick lanes of queue `q` by a rule."""
    if rule == "ojs_pick_lanes":
        more = more or (None,)
    return step(rule, request(**(asked or {})), state(**known), *more)


def planned(found: Facts) -> dict[int, int]:
    """Return how many jobs each picked lane gives."""
    return dict(zip(found["lanes"] or [], found["planned"] or [], strict=True))


# --- the head -------------------------------------------------------------------------------------


def test_an_empty_queue_is_done() -> None:
    found = picked()

    assert (found["is_done"], found["must_look_again"], found["picks"]) == (True, False, None)


def test_a_hinted_look_that_finds_nothing_is_repeated_without_the_mark() -> None:
    add_lane(1, vt=3)

    found = picked(asked={"low_ranks": [0], "low_vts": [9]}, is_hinted=True)

    assert (found["is_done"], found["must_look_again"], found["is_hinted"]) == (False, True, False)


@pytest.mark.parametrize(
    "columns",
    [{"active": False}, {"paused": True}, {"blocked_by": 7}, {"route": 2}, {"limits": [8]},
     {"queue": "other"}],
)  # fmt: skip
def test_lanes_that_are_not_offered_or_not_eligible_are_passed_by(columns: dict[str, Any]) -> None:
    add_lane(1, **columns)

    assert picked(asked={"version_keys": [0]}, closed=[8])["is_done"]


def test_an_exhausted_lane_is_passed_by() -> None:
    add_lane(1)

    assert picked(exhausted=[1])["is_done"]


def test_the_lanes_of_the_highest_priority_come_first() -> None:
    add_lane(1, priority=0, vt=0)
    add_lane(2, priority=5, vt=9)

    found = picked()

    assert (found["rank"], found["vt"], planned(found)) == (-5, 9, {2: 9})


def test_a_lane_alone_is_not_locked() -> None:
    add_lane(1, low=4)

    found = picked()

    assert (found["is_single_lane"], found["charges_lanes"], found["must_not_wait"]) == (
        True,
        False,
        False,
    )
    assert [(one["lane"], one["low"], one["lane_ctid"]) for one in found["picks"]] == [(1, 4, None)]
    assert (found["planned_total"], found["records_debts"], found["has_returned"]) == (
        9,
        False,
        False,
    )


def test_a_lane_behind_one_that_another_claim_caps_waits_for_it() -> None:
    add_lane(1)

    assert picked(busy_rank=-1)["is_done"]
    assert not picked(busy_rank=0)["is_done"]


@pytest.mark.parametrize(("level", "has_other_rank"), [(0, False), (-1, True)])
def test_a_head_of_another_rank_than_the_rotation_went_by_is_told(
    level: int, has_other_rank: bool
) -> None:
    add_lane(1)

    found = picked("ojs_pick_lanes", None, level)

    assert (found["is_done"], found["has_other_rank"]) == (has_other_rank, has_other_rank)


# --- fair -----------------------------------------------------------------------------------------


def test_lanes_of_one_rank_are_locked_in_the_order_of_their_virtual_times() -> None:
    for number, vt in enumerate((2, 0, 1), 1):
        add_lane(number, vt=vt)

    found = picked(quota=3)

    assert (found["charges_lanes"], found["must_not_wait"], found["records_debts"]) == (
        True,
        True,
        False,
    )
    assert [one["lane"] for one in found["picks"]] == [2, 3, 1]
    assert all(one["lane_ctid"] for one in found["picks"])
    assert planned(found) == {2: 2, 3: 1, 1: 0}


def test_a_window_keeps_lanes_out_that_are_far_ahead() -> None:
    for number, vt in enumerate((0, 1, 50), 1):
        add_lane(number, vt=vt)

    found = picked(quota=3)

    assert planned(found) == {1: 2, 2: 1, 3: 0}
    assert [one["lane"] for one in found["picks"] if one["lane_ctid"]] == [1, 2]


def test_a_debt_of_a_lane_is_charged_before_the_lanes_share() -> None:
    add_lane(1)
    add_lane(2)
    rows("INSERT INTO ojs_debt (lane_id, cost) VALUES (1, 1.5), (1, 0.5)")

    found = picked(quota=2)

    assert {one["lane"]: one["vt"] for one in found["picks"]} == {1: 2, 2: 0}
    assert planned(found) == {1: 0, 2: 2}
    assert [found["lanes"][at - 1] for at in found["debt_picks"]] == [1, 1]
    assert rows("SELECT count(*) FROM ojs_debt") == [(0,)]


def test_locked_lanes_share_what_lanes_that_others_hold_leave() -> None:
    add_lane(1)
    add_lane(2, vt=5)
    locked = {"picks": [pick(1)], "lanes": [1], "unlocked_lanes": [2], "unlocked_vt": 5, "quota": 9}

    found = value(f"ojs_plan_jobs({OF_STATE})", state(charges_lanes=True, **locked))

    assert (found["records_debts"], found["lanes"], sum(found["planned"])) == (True, [1, 2], 9)
    assert 4 < found["picks"][1]["vt"] <= 5
    assert planned(found)[1] >= 6


def test_a_lane_of_a_scope_is_caught_up_before_the_claim_goes_by_it() -> None:
    add_lane(1, scope="s", tenant="a")
    add_lane(2, scope="s", tenant="b")
    rows("INSERT INTO ojs_served (scope, rank, tenant, cost) VALUES ('s', 0, 'a', 5)")

    found = picked("ojs_pick_fair", scope="s", quota=2, candidates=[1, 2])

    assert {one["lane"]: one["vt"] for one in found["picks"]} == {2: 0}
    assert planned(found) == {2: 2}


def test_jobs_that_came_back_are_told() -> None:
    add_lane(1, returned=3, low=7)
    add_lane(2)

    found = picked()

    assert found["has_returned"]
    assert {one["lane"]: one["low"] for one in found["picks"]} == {1: None, 2: 0}


# --- of a tenant ----------------------------------------------------------------------------------


def test_a_claim_for_a_tenant_picks_among_its_lanes_of_the_best_rank() -> None:
    add_lane(1, tenant="a", vt=1)
    add_lane(2, tenant="a", vt=0)
    add_lane(3, tenant="a", priority=-3)
    add_lane(9, tenant="b", priority=9)

    found = picked(asked={"tenant": "a"}, tenant_lanes=[1, 2, 3], quota=3)

    assert planned(found) == {2: 2, 1: 1}
    assert found["charges_lanes"]


def test_lanes_of_a_tenant_that_were_blocked_meanwhile_are_passed_by() -> None:
    add_lane(1, tenant="a", blocked_by=7)
    add_lane(2, tenant="a", limits=[7])

    found = picked("ojs_pick_tenant", {"tenant": "a"}, candidates=[1, 2])

    assert (planned(found), found["has_limited"]) == ({2: 9}, True)


# --- unlocked -------------------------------------------------------------------------------------


def test_a_limited_lane_alone_is_locked() -> None:
    add_lane(1, limits=[7])

    found = picked("ojs_pick_unlocked", candidates=[1], is_single_lane=True)

    assert (found["charges_lanes"], found["has_limited"], planned(found)) == (True, True, {1: 9})


def test_a_limited_lane_is_not_waited_for_while_another_may_be_held() -> None:
    add_lane(1, limits=[7])

    found = picked("ojs_pick_unlocked", candidates=[1], must_not_wait=True)

    assert (found["is_done"], found["blocked_on"]) == (True, -1)


def test_a_lane_that_costs_by_duration_is_locked_when_it_is_alone() -> None:
    add_lane(1, timed=True)

    assert picked("ojs_pick_unlocked", candidates=[1], is_single_lane=True)["charges_lanes"]


def test_unlocked_lanes_share_by_weight_and_owe_what_they_give() -> None:
    add_lane(1, weight=3)
    add_lane(2, weight=1)

    found = picked("ojs_pick_unlocked", candidates=[1, 2], quota=8)

    assert planned(found) == {1: 6, 2: 2}
    assert (found["records_debts"], found["charges_lanes"]) == (True, False)


def test_a_lane_that_is_gone_from_the_offer_means_another_look() -> None:
    add_lane(1, limits=[7], paused=True)

    assert picked("ojs_pick_unlocked", candidates=[1])["must_look_again"]


# --- ordered --------------------------------------------------------------------------------------


def test_ordered_lanes_give_the_oldest_jobs_whosever_they_are() -> None:
    add_lane(1, [11, 14, 15], ordered=True, vt=11)
    add_lane(2, [12, 13], ordered=True, vt=12)

    found = picked(quota=3)

    assert (found["is_ordered"], found["charges_lanes"], found["planned_total"]) == (True, False, 3)
    assert planned(found) == {1: 1, 2: 2}


def test_ordered_lanes_without_a_job_are_told_as_empty() -> None:
    add_lane(1, [11], ordered=True, vt=11)
    add_lane(2, ordered=True, vt=12)

    found = picked(quota=3)

    assert (planned(found), found["empty_lanes"]) == ({1: 1}, [2])


def test_an_ordered_lane_with_a_limit_is_locked() -> None:
    add_lane(1, [11], ordered=True, vt=11, limits=[7])
    add_lane(2, [12], ordered=True, vt=12)

    found = picked("ojs_pick_ordered", quota=2, is_ordered=True)

    assert found["has_limited"]
    assert {one["lane"]: bool(one["lane_ctid"]) for one in found["picks"]} == {1: True, 2: False}


IN_ORDER = "ojs_in_order('q', 0::smallint, 0, %s::bigint[], '{}', NULL, %s, false, now())"


@pytest.mark.parametrize(
    ("candidates", "quota", "lanes"), [(None, 1, {1: 1}), (None, 9, {1: 2, 2: 1}), ([2], 9, {2: 1})]
)
def test_the_oldest_jobs_are_counted_by_their_lanes(
    candidates: list[int] | None, quota: int, lanes: dict[int, int]
) -> None:
    add_lane(1, [11, 14], ordered=True, vt=11)
    add_lane(2, [12], ordered=True, vt=12)

    found = value(IN_ORDER, candidates, quota)

    assert dict(zip(found["lanes"], found["takes"], strict=True)) == lanes


def test_a_hinted_look_is_repeated_where_a_job_came_back_to_an_ordered_lane() -> None:
    add_lane(1, [11], ordered=True, vt=11)
    add_lane(2, [5], ordered=True, vt=5, returned=5)

    found = picked(asked={"low_ranks": [0], "low_vts": [11]}, is_hinted=True)

    assert (found["must_look_again"], found["is_hinted"]) == (True, False)
