"""The effects of a look on lanes and on the next look."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    OF_STATE,
    Facts,
    add_job,
    add_lane,
    lane_facts,
    pick,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.django_db


def looked(got: int, lanes: list[int], planned: list[int], **known: Any) -> Facts:
    """Run the step after a look that wanted `planned` jobs of the lanes and got `got`."""
    facts = {"picks": [pick(lane) for lane in lanes], "lanes": lanes, "planned": planned,
             "planned_total": sum(planned), "has_returned": False, **known}  # fmt: skip
    return step("ojs_after_look", request(), state(**facts), got)


def is_active(lane: int) -> bool:
    """Return whether claims see a lane."""
    return bool(lane_facts(lane)["active"])


def test_a_lane_that_ran_empty_is_retired_with_its_debts() -> None:
    add_lane(1)
    add_lane(2, [5])
    rows("INSERT INTO ojs_debt (lane_id, cost) VALUES (1, 1), (2, 1)")

    found = looked(1, [1, 2], [1, 1])

    assert (is_active(1), is_active(2), found["must_not_wait"]) == (False, True, True)
    assert rows("SELECT lane_id FROM ojs_debt") == [(2,)]


def test_a_lane_that_was_asked_for_nothing_is_not_retired() -> None:
    add_lane(1)
    add_lane(2, [5])

    looked(1, [1, 2], [0, 2])

    assert is_active(1)


def test_a_hinted_look_that_got_less_is_repeated_without_the_mark() -> None:
    add_lane(1, [5])

    found = looked(0, [1], [1], is_hinted=True)

    assert (found["is_hinted"], found["exhausted"]) == (False, [])


def test_lanes_that_gave_nothing_are_exhausted() -> None:
    add_lane(1, [5])
    add_lane(2, [6])

    assert looked(0, [1, 2], [1, 0], exhausted=[9])["exhausted"] == [9, 1]


def test_lanes_that_gave_something_are_looked_at_again() -> None:
    add_lane(1, [5])

    assert looked(1, [1], [2])["exhausted"] == []


# --- jobs that came back --------------------------------------------------------------------------


@pytest.mark.parametrize(("seq", "returned"), [(4, 4), (3, 4), (5, None)])
def test_the_mark_of_returned_jobs_is_cleared_once_the_last_was_taken(
    seq: int, returned: int | None
) -> None:
    add_lane(1, [seq], returned=4)

    assert value("ojs_clear_returned(ARRAY[1]::bigint[])") is True
    assert lane_facts(1)["returned"] == returned


def test_lanes_without_the_mark_are_not_locked() -> None:
    add_lane(1, [5])

    assert value("ojs_clear_returned(ARRAY[1]::bigint[])") is False


def test_only_marked_picks_are_looked_at() -> None:
    add_lane(1, [5], returned=3)
    add_lane(2, [6], returned=3)
    picks = [pick(1, low=None), pick(2, low=4)]

    looked(2, [1, 2], [1, 1], picks=picks, has_returned=True)

    assert (lane_facts(1)["returned"], lane_facts(2)["returned"]) == (None, 3)


# --- lanes in order -------------------------------------------------------------------------------


def test_an_ordered_lane_is_moved_to_its_first_job() -> None:
    add_lane(1, [8, 9], ordered=True, vt=5)

    assert value("ojs_advance_ordered(ARRAY[1]::bigint[], now())") is True
    assert (lane_facts(1)["vt"], lane_facts(1)["low"]) == (8, 8)


@pytest.mark.parametrize("columns", [{"ordered": False}, {"ordered": True, "returned": 8}])
def test_other_lanes_and_lanes_with_returned_jobs_stay(columns: dict[str, Any]) -> None:
    add_lane(1, [8], vt=5, **columns)

    value("ojs_advance_ordered(ARRAY[1]::bigint[], now())")

    assert lane_facts(1)["vt"] == 5


def test_expired_jobs_do_not_count_as_first() -> None:
    add_lane(1, ordered=True, vt=5)
    add_job(1, 8, expires_at="2020-01-01")
    add_job(1, 9)

    value("ojs_advance_ordered(ARRAY[1]::bigint[], now())")

    assert lane_facts(1)["vt"] == 9


def test_ordered_lanes_without_jobs_are_retired_and_passed_by() -> None:
    add_lane(1, [5], ordered=True)
    add_lane(2, ordered=True)

    found = looked(1, [1], [1], is_ordered=True, candidates=[1], empty_lanes=[2])

    assert (is_active(2), found["exhausted"], found["is_done"]) == (False, [2], False)


def test_a_queue_in_order_is_done_when_others_have_all_its_jobs() -> None:
    assert looked(0, [], [], is_ordered=True, candidates=None, empty_lanes=[])["is_done"]


# --- limits ---------------------------------------------------------------------------------------


def test_neighbours_of_a_reached_limit_are_marked() -> None:
    add_lane(1, limits=[7], blocked_by=7)
    add_lane(2, limits=[7], vt=3)
    add_lane(3, limits=[8], vt=3)
    add_lane(4, limits=[7], priority=9)  # before the head

    looked(0, [1], [0], reached=[6, 7], rank=0, vt=0)

    assert [lane_facts(lane)["blocked_by"] for lane in (1, 2, 3, 4)] == [7, 7, None, None]


def test_a_hundred_neighbours_are_marked_at_most() -> None:
    for number in range(1, 103):
        add_lane(number, limits=[7], vt=number)

    value(f"ojs_block_lanes_of_limit({OF_STATE})", state(reached=[7], reached_until="2026-01-02"))

    marked = "SELECT count(*), min(blocked_until)::date::text FROM ojs_lane WHERE blocked_by = 7"
    assert rows(marked) == [(100, "2026-01-02")]
