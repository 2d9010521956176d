"""The steps of the queue rotation: the input of the decision, and the record of jobs taken.

tests/scheduling/sql/test_rotations.py compares whole rotations with a model.
"""

from typing import Any

import orjson
import pytest

from tests.jobs.sql.claim.steps import (
    OF_REQUEST,
    OF_ROTATION,
    OF_STATE,
    Facts,
    add_lane,
    add_queue,
    request,
    rows,
    state,
    value,
)

pytestmark = pytest.mark.django_db

QUEUES = ["a", "b", "c"]
ROUND_ROBIN = 1


def asked(**members: Any) -> str:
    """Return a request for three queues in turns."""
    return request(**{"queues": QUEUES, "rotation": "x", "strategy": ROUND_ROBIN, **members})


def begun(need: int = 4, **members: Any) -> Facts:
    """Begin a rotation."""
    found: Facts = value(
        f"ojs_rotation_begin({OF_REQUEST}, {OF_STATE})", asked(**members), state(need=need)
    )
    return found


def decided(need: int = 4, /, **rotation: Any) -> Facts:
    """Decide the turns of four slots."""
    facts = {"turn_count": 4, "stock": [None, 0, None], "keys": [0, 0, 0], "taken": [0, 0, 0],
             "stored": {"seq": 0}, "has_looked": True, **rotation}  # fmt: skip
    found: Facts = value(
        f"ojs_rotation_decide({OF_REQUEST}, %s, {OF_ROTATION})",
        asked(), need, orjson.dumps(facts).decode(),
    )  # fmt: skip
    return found


def noted(rotation: Facts, needed: int, **known: Any) -> Facts:
    """Record the jobs that a queue gave."""
    found: Facts = value(
        f"ojs_rotation_note({OF_ROTATION}, {OF_STATE}, %s)",
        orjson.dumps(rotation).decode(), state(**known), needed,
    )  # fmt: skip
    return found


def fill(*queues: str) -> None:
    """Store queues with a job each."""
    for number, queue in enumerate(queues, 1):
        add_queue(queue)
        add_lane(number, [number], queue=queue, priority=number)


# --- begin ----------------------------------------------------------------------------------------


def test_a_rotation_of_empty_queues_is_off() -> None:
    assert begun()["is_on"] is False


def test_closed_queues_have_no_stock() -> None:
    fill("a", "c")

    found = begun()

    assert (found["is_on"], found["is_open"]) == (True, [True, False, True])
    assert (found["stock"], found["taken"], found["turn_count"]) == ([None, 0, None], [0, 0, 0], 4)


@pytest.mark.parametrize(
    ("members", "is_kept"),
    [({"strategy": 0}, False), ({"strategy": 1}, True), ({"strategy": 2}, True),
     ({"strategy": 3}, False), ({"strategy": 3, "ratio": 0.1, "rotation_ms": 1}, True)],
)  # fmt: skip
def test_turns_are_kept_where_later_ones_follow_from_them(
    members: dict[str, Any], is_kept: bool
) -> None:
    fill("a", "b")

    found = begun(weights=[1, 1, 1], **members)

    assert found["is_kept"] is is_kept
    assert (found["stored"] is not None) is is_kept


def test_round_robin_goes_by_the_turns_before() -> None:
    fill("a", "b")
    rows(
        "INSERT INTO ojs_turn (key, seq, queues, served, opened, vts, is_open, since, floor, at)"
        " VALUES ('x', 9, '{a,b,c}', '{9,8,0}', '{0,0,0}', '{0,0,0}', '{t,t,f}',"
        " ARRAY[now(), now(), now()], 0, now())"
    )

    found = begun()

    assert (found["keys"], found["stored"]["seq"]) == ([9, 8, 0], 9)


def test_the_deepest_queue_has_the_smallest_key() -> None:
    fill("a", "b")
    add_lane(9, [98, 99], queue="b")

    assert begun(strategy=3)["keys"] == [-1, -3, 0]


def test_competing_priorities_begin_with_a_level_for_each_queue() -> None:
    fill("a", "b")

    found = begun(is_global=True)

    assert (found["levels"], found["level_queues"]) == ([1, 2, 3], [1, 2, 3])
    assert (found["level_ends"], found["level_ranks"]) == ([None] * 3, [-1, -2, None])


# --- decide ---------------------------------------------------------------------------------------


def test_turns_say_how_many_jobs_each_queue_is_to_give() -> None:
    found = decided()

    assert (found["turn_order"], found["wants"]) == ([1, 3, 1, 3], [2, 0, 2])
    assert (found["is_final"], found["has_looked"]) == (False, False)


def test_turns_agree_once_each_queue_gave_what_they_ask_for() -> None:
    assert decided(taken=[2, 0, 2])["is_final"]


def test_a_round_without_a_look_takes_what_was_given_as_all_there_is() -> None:
    found = decided(taken=[3, 0, 1], has_looked=False)

    assert (found["wants"], found["is_final"]) == ([3, 0, 1], True)


@pytest.mark.parametrize(
    ("need", "stock", "first_position"),
    [(4, [None, 0, None], 0), (3, [None, 0, None], 1), (4, [None, 0, 0], 1)],
)
def test_queues_give_at_once_in_the_first_round_of_several(
    need: int, stock: list[int | None], first_position: int
) -> None:
    assert decided(need, stock=stock)["first_position"] == first_position


# --- note -----------------------------------------------------------------------------------------

BEFORE: Facts = {"taken": [1, 0, 0], "wants": [3, 0, 1], "is_open": [True, False, True],
                 "stock": [None, 0, None], "has_looked": False}  # fmt: skip


@pytest.mark.parametrize(
    ("needed", "need", "taken", "stock"),
    [(4, 2, 3, None), (4, 3, 2, 2), (4, 4, 1, 1), (1, 0, 2, None)],
)
def test_a_queue_that_gave_less_than_asked_has_no_more(
    needed: int, need: int, taken: int, stock: int | None
) -> None:
    found = noted(BEFORE, needed, position=1, need=need)

    assert (found["taken"], found["stock"]) == ([taken, 0, 0], [stock, 0, None])
    assert (found["is_open"][0], found["has_looked"]) == (stock is None, True)


def test_a_best_job_of_another_rank_begins_a_level() -> None:
    levels = {"levels": [1, 2, 3], "level_queues": [1, 2, 3], "level_ends": [None] * 3,
              "level_ranks": [-5, 0, -4]}  # fmt: skip

    found = noted({**BEFORE, **levels}, 4, position=1, need=3, rank=-2, has_other_rank=True)

    assert (found["levels"], found["level_queues"]) == ([4, 2, 3], [1, 2, 3, 1])
    assert (found["level_ends"], found["level_ranks"]) == ([2, None, None, None], [-5, 0, -4, -2])
    assert (found["is_open"][0], found["stock"][0]) == (True, None)


def test_jobs_of_several_queues_at_once_count_for_the_queue_of_each() -> None:
    picks = [{"position": 1}, {"position": 3}, {"position": 1}]

    found = noted(BEFORE, 4, position=0, picks=picks)

    assert (found["taken"], found["has_looked"]) == ([3, 0, 1], True)


def test_a_look_at_several_queues_that_found_nothing_is_no_look() -> None:
    assert noted(BEFORE, 4, position=0, picks=None)["has_looked"] is False
