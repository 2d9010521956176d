"""Handing out: the chosen jobs of the picks, the stored rows and the charges of the lanes."""

from typing import Any

import orjson
import pytest

from tests.jobs.sql.claim.steps import (
    OF_REQUEST,
    OF_STATE,
    Facts,
    add_job,
    add_lane,
    add_limit,
    lane_facts,
    pick,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.django_db


def handed(
    planned: list[int], *picks: Facts, asked: Facts | None = None, **known: Any
) -> list[Facts]:
    """Hand out; returns the rows."""
    found = rows(
        f"SELECT to_jsonb(c) FROM ojs_hand_out({OF_REQUEST}, {OF_STATE}) AS c",  # noqa: S608
        request(**(asked or {})), state(picks=picks, planned=planned, **known),
    )  # fmt: skip
    return [orjson.loads(row) for (row,) in found]


def seqs(found: list[Facts]) -> list[int]:
    """Return the `seq` of jobs."""
    return [row["seq"] for row in found]


def test_a_job_moves_from_ready_to_leased_with_one_event() -> None:
    add_lane(1, [5])
    asked = {"worker": "w", "pool": "p", "lease_ms": 2000}

    [row] = handed([1], pick(1), asked=asked)

    assert (row["lane_id"], row["attempt"], row["lease_ms"], row["signals"]) == (1, 1, 2000, None)
    assert rows("SELECT count(*) FROM ojs_ready") == [(0,)]
    assert rows("SELECT id::text, seq, worker_id, pool, lease_ms, limits FROM ojs_lease") == [
        (row["id"], 5, "w", "p", 2000, None)
    ]
    assert rows("SELECT kind, from_state, to_state, bytes, worker_id FROM ojs_event") == [
        (3, 3, 4, -10, "w")
    ]


@pytest.mark.parametrize(
    ("asked", "job", "lease_ms"), [(7, 8, 7), (None, 8, 8), (None, None, 60_000)]
)
def test_a_lease_lasts_as_the_request_the_job_or_the_server_says(
    asked: int | None, job: int | None, lease_ms: int
) -> None:
    add_lane(1)
    add_job(1, 5, visibility_ms=job)

    [row] = handed([1], pick(1), asked={"lease_ms": asked})

    assert row["lease_ms"] == lease_ms


def test_jobs_of_several_lanes_come_by_their_tags() -> None:
    add_lane(1, [1, 3, 5])
    add_lane(2, [2, 4])

    found = handed([2, 1], pick(1, vt=0, weight=2), pick(2, vt=0.25))

    assert seqs(found) == [1, 3, 2]  # tags 0.5, 1 and 1.25


def test_expired_jobs_are_passed_by() -> None:
    add_lane(1)
    add_job(1, 1, expires_at="2025-12-31")
    add_job(1, 2, expires_at="2026-01-02")

    assert seqs(handed([2], pick(1))) == [2]


@pytest.mark.parametrize(
    ("low", "mark", "is_hinted", "found"),
    [(0, 0, True, [1, 500]), (200, 0, True, [500]), (0, 200, True, [500]),
     (200, 0, False, [1, 500]), (None, 200, True, [1, 500])],
)  # fmt: skip
def test_low_water_marks_bound_the_look_at_jobs(
    low: int | None, mark: int, is_hinted: bool, found: list[int]
) -> None:
    add_lane(1, [1, 500])
    asked = {"low_lanes": [1], "low_seqs": [mark]}

    assert seqs(handed([2], pick(1, low=low), asked=asked, is_hinted=is_hinted)) == found


def test_locked_lanes_are_charged_by_weight_and_note_how_far_they_gave() -> None:
    add_lane(1, [5, 6], weight=2, vt=1)
    add_lane(2, vt=3)
    picks = pick(1, vt=1.5, weight=2, lane_ctid=True), pick(2, vt=4, lane_ctid=True)

    handed([2, 0], *picks, charges_lanes=True, debt_picks=[2])

    assert (lane_facts(1)["vt"], lane_facts(1)["low"]) == (2.5, 6)
    assert lane_facts(2)["vt"] == 4  # a debt is charged without a job, too


def test_lanes_that_others_hold_get_a_debt() -> None:
    add_lane(1, [5, 6], weight=2)

    handed([2], pick(1, weight=2), records_debts=True)

    assert rows("SELECT lane_id, cost FROM ojs_debt") == [(1, 1)]
    assert lane_facts(1)["vt"] == 0


def test_a_lane_of_a_scope_notes_what_it_was_charged() -> None:
    add_lane(1, [5], scope="s", paid=3)

    handed([1], pick(1, lane_ctid=True), charges_lanes=True, scope="s")

    assert lane_facts(1)["paid"] == 4


def test_limits_of_the_lane_and_the_queue_hold_the_job_and_count_its_start() -> None:
    add_limit(7, concurrency=5)
    add_limit(8, kind=1, rate=5, rate_ms=1000)
    rows("UPDATE ojs_limit SET slot_ms = 1 WHERE id = 8")
    add_lane(1, [5], limits=[7])

    handed([1], pick(1, is_limited=True, lane_ctid=True), queue_limits=[8])

    assert rows("SELECT limits FROM ojs_lease") == [([7, 8],)]
    assert rows("SELECT limit_id FROM ojs_hold ORDER BY 1") == [(7,), (8,)]
    assert rows("SELECT limit_id, jobs FROM ojs_start") == [(8, 1)]


def test_ordered_lanes_give_by_the_places_of_their_jobs_and_keep_their_time() -> None:
    add_lane(1, [1, 4], ordered=True)
    add_lane(2, [2, 3], ordered=True)

    assert seqs(handed([2, 2], pick(1), pick(2), is_ordered=True)) == [1, 2, 3, 4]


def test_picks_with_a_locked_job_give_that_one() -> None:
    add_lane(1, [1, 2])
    [(place,)] = rows("SELECT ctid::text FROM ojs_ready WHERE seq = 2")

    [row] = handed([1], pick(1, job_ctid=place, rank=-4, vt=6, position=3), position=0)

    assert (row["seq"], row["head_rank"], row["head_vt"]) == (2, -4, 6)


def test_the_head_of_the_look_comes_with_each_job() -> None:
    add_lane(1, [1])

    [row] = handed([1], pick(1), rank=-2, vt=8)

    assert (row["head_rank"], row["head_vt"]) == (-2, 8)


# --- scopes ---------------------------------------------------------------------------------------


def served() -> dict[str, float]:
    """Return the costs of tenants in scope `s`."""
    return dict(rows("SELECT tenant, cost FROM ojs_served WHERE scope = 's'"))


def charged(asked: Facts, **known: Any) -> Facts:
    """Charge the tenants of picks."""
    return step("ojs_add_costs", request(**asked), state(**known))


def test_tenants_are_charged_for_the_jobs_that_are_there() -> None:
    add_lane(1, [1, 2], tenant="a")
    add_lane(2, [3], tenant="b")
    picks = [pick(1, tenant="a", weight=2), pick(2, tenant="b")]

    found = charged({"scopes": ["s"]}, scope="s", picks=picks, planned=[2, 4], planned_total=6)

    assert (found["locked_jobs"], found["must_not_wait"]) == ([2, 1], True)
    assert served() == {"a": 1, "b": 1}


def test_a_queue_of_no_scope_is_not_charged() -> None:
    found = charged({"scopes": [None]}, picks=[pick(1)], planned=[1], planned_total=1)

    assert (found["locked_jobs"], served()) == (None, {})


def test_jobs_of_several_queues_are_charged_to_the_scope_of_each() -> None:
    picks = [pick(1, tenant="a", rank=0, position=1), pick(2, tenant="a", rank=0, position=2)]

    charged({"scopes": [None, "s"]}, position=0, picks=picks, planned=[1, 1], planned_total=2)

    assert served() == {"a": 1}


def test_what_is_charged_is_what_is_given() -> None:
    add_lane(1, [1, 2, 3])

    assert seqs(handed([3], pick(1), locked_jobs=[2])) == [1, 2]


def test_charges_add_up_in_one_row() -> None:
    rows("INSERT INTO ojs_served (scope, rank, tenant, cost) VALUES ('s', 0, 'a', 5)")

    value("(SELECT 1 FROM ojs_spend('{s,s}', '{0,0}', '{a,a}', '{1,2}', '{1,0.5}'))")

    assert served() == {"a": 10}
