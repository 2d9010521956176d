"""Lanes by key; the first producer that needs a lane creates it."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.models import Job, Lane
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from tests.concurrency import DEADLINE_S, threads, wait_until_blocked
from tests.factories import DraftFactory

pytestmark = pytest.mark.usefixtures("store")

FIRST, SECOND, THIRD = (LaneKey("q", n, "_default") for n in (0, 1, 2))


def assert_true_to_table(found: dict[LaneKey, int]) -> None:
    for key, lane_id in found.items():
        row = Lane.objects.get(id=lane_id)
        assert LaneKey(row.queue, row.priority, row.tenant, row.route) == key


def test_resolve_answers_every_key_with_its_own_lane() -> None:
    found = lanes.resolve([THIRD, FIRST, SECOND, FIRST])

    assert found.keys() == {FIRST, SECOND, THIRD}
    assert_true_to_table(found)
    assert lanes.resolve([FIRST, THIRD]) == {FIRST: found[FIRST], THIRD: found[THIRD]}


@pytest.mark.parametrize("taken", [FIRST, SECOND, THIRD])
def test_resolve_while_another_makes_one_of_the_lanes_mixes_none_up(taken: LaneKey) -> None:
    with threads(1) as start:
        with transaction.atomic():
            queries.lanes([taken], {})
            waiting = start(lambda: lanes.resolve([FIRST, SECOND, THIRD]))
            wait_until_blocked()
        found = waiting.result()

    assert found.keys() == {FIRST, SECOND, THIRD}
    assert_true_to_table(found)


def test_resolve_in_a_transaction_that_rolls_back_keeps_nothing() -> None:
    with transaction.atomic():
        lanes.resolve([FIRST])
        transaction.set_rollback(True)

    assert_true_to_table(lanes.resolve([FIRST]))


def test_whoever_makes_the_same_lane_goes_on_after_a_rollback_to_a_savepoint() -> None:
    with threads(1) as start, transaction.atomic():
        before = connection.savepoint()
        assert before is not None
        lanes.resolve([FIRST])
        waiting = start(lambda: lanes.resolve([FIRST]))
        wait_until_blocked()
        connection.savepoint_rollback(before)

        found = waiting.result(DEADLINE_S)  # while this transaction goes on

    assert_true_to_table(found)


@pytest.mark.parametrize("number", [1, 2, 4, 5, 40])  # up to four lanes are read one by one
@pytest.mark.parametrize("asleep", [0, 1, -1])  # how many lanes sleep; -1: all but one
def test_lanes_that_sleep_are_offered_beside_those_that_do_not(number: int, asleep: int) -> None:
    found = [*lanes.resolve(LaneKey("q", n, "_default") for n in range(number)).values()]
    sleeping = found[::-1][:asleep]
    Lane.objects.exclude(id__in=sleeping).update(active=True)

    lanes.wake(found[::-1])

    assert Lane.objects.filter(active=True).count() == number


@pytest.mark.parametrize("number", [1, 2, 5])
def test_nothing_is_offered_where_a_lane_is_gone(number: int) -> None:
    found = [*lanes.resolve(LaneKey("q", n, "_default") for n in range(number)).values()]

    with pytest.raises(DatabaseError) as problem:
        queries.wake([*found, max(found) + 1])

    assert lanes.is_gone(problem.value)
    assert not Lane.objects.filter(active=True).exists()


@pytest.mark.parametrize("fields", [{}, {"scheduled_in_ms": 60_000}, {"pending": True}])
@pytest.mark.parametrize("is_hosted", [False, True])
def test_a_job_is_never_stored_in_a_lane_that_is_gone(
    fields: dict[str, Any],
    is_hosted: bool,
) -> None:
    enqueue([DraftFactory.create()])
    lane = Lane.objects.get()
    queries.reset(())  # as another process does; this process remembers the lane

    with transaction.atomic() if is_hosted else nullcontext():
        enqueue([replace(DraftFactory.create(), **fields)])

    assert list(Lane.objects.values_list("id", flat=True)) == [Job.objects.get().lane_id]
    assert Job.objects.get().lane_id != lane.id
