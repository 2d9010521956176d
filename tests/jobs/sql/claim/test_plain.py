"""Plain queues: which queues are plain, and that both functions hand out the same."""

from typing import Any

import orjson
import pytest
from django.db import transaction

from tests.jobs.sql.claim.steps import (
    OF_REQUEST,
    OF_STATE,
    Facts,
    add_job,
    add_lane,
    add_limit,
    add_queue,
    lane_facts,
    pick,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.django_db

HEAD = {"lane": 1, "tenant": "t1", "rank": -2, "vt": 3, "low": 0}
CLAIM = f"SELECT seq FROM ojs_claim_jobs({OF_REQUEST})"  # noqa: S608
JOBS: list[Facts] = [
    {"seq": 3, "args": '["x"]', "meta": '{"a": 1}', "version": '"2"', "visibility_ms": 70},
    {"seq": 4, "expires_at": "2025-12-31"},
    {"seq": 5, "watched": True, "expires_at": "2026-01-02", "attributes": '{"b": 2}'},
    {"seq": 9, "error": '{"code": "x"}', "errors": '[{"code": "x"}]', "retry_delay_ms": 4,
     "scheduled_at": "2025-12-30", "activated_at": "2025-12-31"},
    {"seq": 700, "enqueued_at": "2026-03-01"},
]  # fmt: skip


# --- the queue ------------------------------------------------------------------------------------


def begun(asked: Facts | None = None, *, most: int | None = None, **known: Any) -> Facts:
    """Begin with queue `q`."""
    return step("ojs_claim_queue", request(**(asked or {})), state(**known), 1, most)


def test_a_queue_with_a_single_lane_is_plain() -> None:
    add_queue()
    add_lane(1, low=4, vt=2, priority=3)

    found = begun()

    assert (found["is_plain_queue"], found["is_hinted"]) == (True, False)
    assert found["first_lanes"] == [
        {"lane": 1, "tenant": "t1", "rank": -3, "vt": 2, "low": 4, "is_ordered": False,
         "is_plain": True},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "columns",
    [{"limits": [7]}, {"timed": True}, {"ordered": True}, {"returned": 5}],
)
def test_a_lane_with_a_rule_is_not_plain(columns: dict[str, Any]) -> None:
    add_queue()
    add_lane(1, **columns)

    found = begun()

    assert ([head["lane"] for head in found["first_lanes"]], found["is_plain_queue"]) == (
        [1],
        False,
    )


@pytest.mark.parametrize(
    ("asked", "known", "most"),
    [({"scopes": ["s"]}, {}, None), ({"tenant": "t1"}, {}, None),
     ({}, {"must_not_wait": True}, None), ({}, {}, 3)],
)  # fmt: skip
def test_a_claim_with_further_rules_has_no_plain_queues(
    asked: Facts, known: Facts, most: int | None
) -> None:
    add_queue()
    add_lane(1)

    assert begun(asked, most=most, **known)["is_plain_queue"] is False


def test_a_queue_with_a_limit_is_not_plain() -> None:
    add_queue(limit_id=add_limit(7, kind=1, concurrency=2))
    add_lane(1)

    assert begun()["is_plain_queue"] is False


def test_a_queue_with_two_lanes_is_not_plain() -> None:
    add_queue()
    for number, vt in enumerate((2, 0, 1), 1):
        add_lane(number, vt=vt)

    found = begun()

    assert ([head["lane"] for head in found["first_lanes"]], found["is_plain_queue"]) == (
        [2, 3],
        False,
    )


def test_lanes_that_are_not_eligible_do_not_count() -> None:
    add_queue()
    add_lane(1, route=1)
    add_lane(2)
    add_lane(3)
    add_lane(4, limits=[8])

    found = begun({"version_keys": [0]}, exhausted=[2], reached=[8])

    assert ([head["lane"] for head in found["first_lanes"]], found["is_plain_queue"]) == ([3], True)


def test_a_lane_that_opens_ends_the_plain_queue() -> None:
    add_queue()
    add_lane(1, blocked_by=7, blocked_until="2025-12-31")

    with transaction.atomic():
        found = begun()

    assert ([head["lane"] for head in found["first_lanes"]], found["is_plain_queue"]) == (
        [1],
        False,
    )


def test_a_queue_without_lanes_gives_nothing_once_no_mark_hides_any() -> None:
    add_queue()
    add_lane(1, vt=3)

    assert begun({"low_ranks": [0], "low_vts": [9]})["quota"] == 9
    assert begun(exhausted=[1])["quota"] == 0


def test_the_look_uses_the_heads_once() -> None:
    head = {**HEAD, "is_ordered": False, "is_plain": False}
    add_lane(1)

    found = step("ojs_pick_lanes", request(), state(first_lanes=[head]), None)

    assert (found["rank"], found["vt"], found["candidates"], found["first_lanes"]) == (
        -2,
        3,
        [1],
        None,
    )


# --- the hand-out ---------------------------------------------------------------------------------


def add_jobs() -> None:
    """Store a plain lane with jobs of every kind."""
    add_lane(1)
    for job in JOBS:
        add_job(1, **job)
    rows("UPDATE ojs_ready AS z SET enqueued_at = j.enqueued_at, attempt = 2"
         " FROM ojs_job AS j WHERE j.id = z.id")  # fmt: skip


def handed(name: str, asked: Facts, found: str) -> dict[str, Any]:
    """Hand out in a transaction that is rolled back; returns the rows and the tables."""
    tables = ("ready", "lease", "event", "lane", "job", "hold", "start", "debt")
    with transaction.atomic():
        answer = rows(
            f"SELECT to_jsonb(c) FROM {name}({OF_REQUEST}, {OF_STATE}) AS c",  # noqa: S608
            request(**asked), found,
        )  # fmt: skip
        after = {
            table: rows(f"SELECT to_jsonb(x) - 'stamp' - 'seq' FROM ojs_{table} AS x ORDER BY 1")  # noqa: S608
            for table in tables
        }
        transaction.set_rollback(True)
    return {"answer": [orjson.loads(row) for (row,) in answer], **after}


@pytest.mark.parametrize(
    "asked",
    [{}, {"worker": "w", "pool": "p"}, {"lease_ms": 5},
     {"low_ranks": [-2], "low_vts": [3], "low_lanes": [1], "low_seqs": [300]}],
)  # fmt: skip
@pytest.mark.parametrize("need", [1, 3, 9])
def test_a_plain_lane_gives_the_same_by_both_functions(asked: Facts, need: int) -> None:
    add_jobs()
    is_hinted = "low_ranks" in asked
    known = {"rank": HEAD["rank"], "vt": HEAD["vt"], "is_hinted": is_hinted, "need": need}
    picks = {"picks": [pick(1, vt=3)], "lanes": [1], "planned": [need], "planned_total": need}

    plain = handed("ojs_hand_out_plain", asked, state(**known, first_lanes=[HEAD]))

    assert plain == handed("ojs_hand_out", asked, state(**known, **picks))
    assert len(plain["answer"]) == (1 if is_hinted else min(need, 4))


def test_a_claim_takes_the_jobs_of_a_plain_lane_without_the_lane() -> None:
    add_queue()
    add_lane(1, [5, 6])

    assert rows(CLAIM, request(jobs=2)) == [(5,), (6,)]
    assert lane_facts(1)["vt"] == 0


def test_a_claim_looks_below_the_mark_of_a_plain_lane() -> None:
    add_queue()
    add_lane(1, [1, 500])
    marks = {"low_ranks": [0], "low_vts": [0], "low_lanes": [1], "low_seqs": [500]}

    assert rows(CLAIM, request(jobs=2, **marks)) == [(500,), (1,)]


def test_a_claim_goes_on_with_the_queues_after_a_plain_one() -> None:
    for number, queue in enumerate(("a", "b", "c"), 1):
        add_queue(queue)
        add_lane(number, [number], queue=queue)
    add_lane(4, [4], queue="b")

    found = rows(CLAIM, request(queues=["a", "b", "c"], jobs=9))

    assert [seq for (seq,) in found] == [1, 2, 4, 3]


# --- fewer jobs than the claim needs --------------------------------------------------------------


def after(got: int, **known: Any) -> Facts:
    """Go on after a plain lane that gave too few jobs."""
    found = state(**known, first_lanes=[HEAD])
    made: Facts = value(f"ojs_after_plain({OF_STATE}, %s)", found, got)
    return made


def test_an_empty_plain_lane_retires() -> None:
    add_lane(1)

    assert after(3)["must_not_wait"] is True
    assert lane_facts(1)["active"] is False


@pytest.mark.parametrize(
    ("got", "is_hinted", "exhausted"), [(0, False, [1]), (0, True, []), (1, False, [])]
)
def test_a_plain_lane_whose_jobs_cannot_be_taken_is_passed_by(
    got: int, is_hinted: bool, exhausted: list[int]
) -> None:
    add_lane(1, [5])

    found = after(got, is_hinted=is_hinted)

    assert (found["exhausted"], found["must_not_wait"]) == (exhausted, False)
    assert lane_facts(1)["active"] is True
