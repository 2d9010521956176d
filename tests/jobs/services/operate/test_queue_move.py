"""Deletion of a queue that moves its jobs to another queue. Spec: contract 10.2, 10.4."""

from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from jobs import queries
from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, InvalidRequest, NotFound, QueueFull, QueuePaused
from jobs.domain.states import State
from jobs.models import Event, Job, Later, Queue, Total
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.backpressure import load_of
from jobs.services.lanes.queue_config import configure, create
from jobs.services.operate import bulk
from jobs.services.operate.queue_removal import Removed, delete, drain
from jobs.services.operate.reprioritize import reprioritize
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.read.show import show
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory, error, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(autouse=True)
def target(store: None) -> None:
    """Create the queue that takes the jobs."""
    create("new", {}, SYSTEM)


def fetched(queue: str, count: int = 100) -> list[str]:
    """Claim and return the ids."""
    return [job.id for job in fetch(FetchRequest((queue,), count=count)).jobs]


def move(name: str = "old") -> Removed:
    """Delete a queue and move its jobs."""
    return delete(name, "move", "test", "new")


@spec("contract 10.4")
def test_all_that_waits_is_moved_and_the_queue_is_gone() -> None:
    failed = JobFactory.create(queue="old", state=State.RETRYABLE)
    ended = JobFactory.create(queue="old", state=State.COMPLETED)
    ready = stored_ids(3, queue="old")
    later = stored_ids(1, queue="old", scheduled_at="+PT1H")
    pending = stored_ids(1, queue="old", pending=True)

    assert move() == Removed(6, is_draining=False)

    assert not Queue.objects.filter(name="old").exists()
    assert_state(State.AVAILABLE, *ready)
    assert_state(State.SCHEDULED, *later)
    assert_state(State.PENDING, *pending)
    assert_state(State.RETRYABLE, failed.id)
    moved = Job.objects.filter(queue="new").values_list("id", flat=True)
    assert {str(job_id) for job_id in moved} == {*ready, *later, *pending, failed.id}
    assert show(ended.id).queue == "old"
    assert_store_is_sound()
    assert fetched("new")[:3] == ready  # the failed job may be due by now


@spec("contract 10.1")
def test_jobs_keep_order_priority_attempt_and_time_and_follow_those_that_wait() -> None:
    first = stored_ids(2, queue="new")
    low = stored_ids(2, queue="old")
    high = stored_ids(1, queue="old", priority=7)
    (again,) = stored_ids(1, queue="old", priority=7)
    before = show(again)

    move()

    assert fetched("new") == [*high, again, *first, *low]
    assert (show(again).enqueued_at, show(again).created_at) == (
        before.enqueued_at, before.created_at,
    )  # fmt: skip


@spec("contract 10.2")
def test_active_jobs_end_in_the_queue_and_what_comes_back_is_moved() -> None:
    done, failed, given, waits = stored_ids(4, queue="old")
    assert len(fetched("old", 3)) == 3

    assert move() == Removed(1, is_draining=True)
    assert fetched("new") == [waits]
    with pytest.raises(QueuePaused):
        stored(1, queue="old")
    assert drain() == 0

    ack([Ack(done)])
    nack([Nack(failed, error())])
    nack([Nack(given, None, requeue=True)])
    assert drain() == 1

    assert (show(failed).queue, show(given).queue) == ("new", "new")
    assert_state(State.RETRYABLE, failed)
    assert fetched("new") == [given]
    assert not Queue.objects.filter(name="old").exists()
    assert drain() == 0
    assert not Queue.objects.filter(name="old").exists()
    assert_store_is_sound()


@spec("contract 10.4")
def test_a_mover_that_dies_half_way_is_followed_by_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk, "SLICE", 4)
    ids = stored_ids(10, queue="old")
    real, calls = queries.move, []

    def dies(*arguments: Any) -> set[str]:
        calls.append(arguments)
        if len(calls) == 2:
            raise OperationalError("the server is gone")
        return real(*arguments)

    monkeypatch.setattr(queries, "move", dies)
    with pytest.raises(OperationalError):
        move()

    assert Job.objects.filter(queue="new").count() == 4
    assert_store_is_sound()
    assert drain() == 1
    assert fetched("new") == ids
    assert_store_is_sound()


@spec("contract 10.4")
def test_a_move_counts_neither_as_enqueued_nor_as_a_change_of_state() -> None:
    (job_id,) = stored_ids(1, queue="old")
    move()
    wait_until_complete()
    for _ in range(2):  # the first run finds the start position
        aggregate_events()

    totals = dict(Total.objects.values_list("queue", "enqueued"))
    assert (totals["old"], totals.get("new", 0)) == (1, 0)
    states = Event.objects.filter(job_id=job_id).order_by("stamp", "seq")
    assert list(states.values_list("queue", "from_state", "to_state")) == [
        ("old", None, 3), ("old", 3, None), ("new", None, 3),
    ]  # fmt: skip


@spec("BP-10")
def test_jobs_that_are_moved_are_not_refused_by_a_bound_and_count_from_then_on() -> None:
    configure("new", {"backpressure": {"max_depth": 2}})
    stored(3, queue="old")
    size = load_of("old").bytes

    move()

    assert (load_of("new").jobs, load_of("new").bytes) == (3, size)
    assert load_of("old") == queries.Load()
    with pytest.raises(QueueFull):
        stored(1, queue="new")


@spec("RL-1")
def test_jobs_take_their_limits_with_them() -> None:
    stored(4, queue="old", rate_limit={"key": "k", "concurrency": 1})
    stored(3, queue="old")

    move()

    assert len(fetched("new")) == 4
    assert_store_is_sound()


@spec("contract 10.4")
def test_scheduled_jobs_are_promoted_where_they_went() -> None:
    ids = stored_ids(2, queue="old", scheduled_at="+PT1S")
    move()
    Later.objects.update(due_at=timezone.now())

    promote()

    assert sorted(fetched("new")) == sorted(ids)


def test_a_job_that_got_another_priority_meanwhile_is_left_for_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (job_id,) = stored_ids(1, queue="old")
    real = queries.move

    def late(*arguments: Any) -> set[str]:
        monkeypatch.setattr(queries, "move", real)
        reprioritize(job_id, 5, "test")
        return real(*arguments)

    monkeypatch.setattr(queries, "move", late)
    assert move() == Removed(0, is_draining=True)

    assert drain() == 1
    assert (show(job_id).queue, show(job_id).priority) == ("new", 5)
    assert fetched("new") == [job_id]
    assert_store_is_sound()


@pytest.mark.parametrize(
    ("target", "kind"),
    [(None, InvalidRequest), ("old", InvalidRequest), ("unknown", NotFound)],
)
@spec("contract 10.4")
def test_a_target_that_cannot_be_is_refused(target: str | None, kind: type[Exception]) -> None:
    stored(1, queue="old")

    with pytest.raises(kind):
        delete("old", "move", "test", target)

    stored(1, queue="old")  # the refused deletion leaves the queue open


@spec("contract 10.4")
def test_queues_do_not_move_to_one_that_goes_away_itself() -> None:
    stored(1, queue="old")
    stored(1, queue="third")
    fetched("old")
    assert move().is_draining

    for strategy in ("reject", "discard"):
        with pytest.raises(Conflict):
            delete("new", strategy, "test")
    with pytest.raises(Conflict):
        delete("third", "move", "test", "old")
    assert not Queue.objects.get(name="third").draining


@spec("contract 10.4")
def test_the_latest_word_counts_while_a_queue_drains() -> None:
    ids = stored_ids(2, queue="old")
    fetched("old", 1)
    move()
    nack([Nack(ids[0], None, requeue=True)])

    assert delete("old", "discard", "test") == Removed(1, is_draining=False)
    assert_state(State.CANCELLED, ids[0])
    assert_state(State.AVAILABLE, ids[1])
