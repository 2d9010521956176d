"""The claim takes jobs of all queues with a single lane in one statement."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    add_job,
    add_lane,
    add_limit,
    add_queue,
    picked_at_once,
    request,
)

pytestmark = pytest.mark.django_db

QUEUES = ["a", "b", "c"]
LATER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("paused", {"paused_at": "2026-01-01"}, {}),
    ("limited", {"limit_id": 7}, {}),
    ("a lane with a limit", {}, {"limits": [7]}),
    ("a lane that costs by duration", {}, {"timed": True}),
    ("a lane that is about to open", {}, {"blocked_by": 7, "blocked_until": "2025-01-01"}),
    ("another version key", {}, {"route": 3}),
    ("not active", {}, {"active": False}),
]


def jobs(asked: dict[str, Any], **rotation: Any) -> list[tuple[int, int]]:
    """Return the position and lane of each picked job."""
    found = picked_at_once(request(**{"queues": QUEUES, **asked}), **rotation)
    assert found["is_done"] == (not found["picks"])
    return [(one["position"], one["lane"]) for one in found["picks"] or []]


def test_each_job_is_a_pick_of_its_queue() -> None:
    for number, queue in enumerate(QUEUES, 1):
        add_queue(queue)
        add_lane(number, [10 * number, 10 * number + 1], queue=queue)

    assert sorted(jobs({}, wants=[2, 1, 0])) == [(1, 1), (1, 1), (2, 2)]


@pytest.mark.parametrize(("queue", "lane"), [row[1:] for row in LATER], ids=[r[0] for r in LATER])
def test_other_queues_are_left_to_the_other_rules(
    queue: dict[str, Any], lane: dict[str, Any]
) -> None:
    add_limit(7, concurrency=1)
    add_queue("a", **queue)
    add_lane(1, [1], queue="a", **lane)

    assert jobs({"version_keys": [0]}, wants=[1, 0, 0]) == []


def test_a_queue_of_two_lanes_is_left_to_the_other_rules() -> None:
    add_queue("a")
    add_lane(1, [1], queue="a")
    add_lane(2, [2], queue="a")

    assert jobs({}, wants=[1, 0, 0]) == []


def test_a_lane_of_higher_priority_than_the_low_water_mark_ends_it() -> None:
    add_queue("a")
    add_lane(1, [1], queue="a")
    marks = {"low_vts": [0, 0, 0], "low_lanes": [], "low_seqs": []}

    assert jobs({**marks, "low_ranks": [0, None, None]}, wants=[1, 0, 0]) == [(1, 1)]
    assert jobs({**marks, "low_ranks": [1, None, None]}, wants=[1, 0, 0]) == []


def test_only_the_level_that_the_rotation_goes_by_gives() -> None:
    add_queue("a")
    add_lane(1, [1], queue="a", priority=2)

    assert jobs({}, wants=[1, 0, 0], levels=[1, 2, 3], level_ranks=[0, 0, 0]) == []
    assert jobs({}, wants=[1, 0, 0], levels=[1, 2, 3], level_ranks=[-2, 0, 0]) == [(1, 1)]


def test_expired_jobs_are_passed_by() -> None:
    add_queue("a")
    add_lane(1, queue="a")
    add_job(1, 1, expires_at="2025-12-31")
    add_job(1, 2, expires_at="2026-01-02")

    found = picked_at_once(request(queues=QUEUES), wants=[2, 0, 0])

    assert (found["planned_total"], found["position"]) == (1, 0)
