"""Bounded queues, and job defaults in the configuration of queues. Spec: contract 27.4, 10.4."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import InvalidRequest, QueueFull, QueuePaused
from jobs.domain.states import State
from jobs.models import Job, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.backpressure import depth_of
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import configuration
from jobs.services.lanes.queue_config import configure
from jobs.services.read.show import show
from jobs.services.record.events import EventFilter, event_name, latest
from tests.asserts import assert_state, assert_store_is_sound, state
from tests.concurrency import at_once, threads, until, wait_until_complete
from tests.factories import DraftFactory, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def bound(max_depth: int, **more: Any) -> None:
    """Bound the default queue."""
    configure("default", {"backpressure": {"max_depth": max_depth, **more}})


def emitted() -> list[str]:
    """Return the names of all backpressure events, in order."""
    wait_until_complete()
    found, _ = latest(EventFilter(types=("backpressure.*",)), limit=100)
    return [event_name(event) for event in reversed(found)]


@spec("contract 1.3")
def test_the_nth_job_fits_and_the_next_is_refused() -> None:
    bound(3)
    stored(3)

    with pytest.raises(QueueFull) as caught:
        stored(1)

    assert caught.value.details == {
        "queue": "default", "depth": 3, "bound": 3, "unit": "jobs", "strategy": "reject",
        "retryable": True,
    }  # fmt: skip
    assert caught.value.headers["Retry-After"] == "5"
    assert emitted() == ["backpressure.rejected"]
    assert_store_is_sound()


@spec("BP-1")
def test_all_waiting_states_count_and_active_does_not() -> None:
    bound(4)
    stored(1, scheduled_at="+PT1H")
    stored(1, pending=True)
    stored(2)
    assert depth_of("default") == 4

    fetch(FetchRequest(("default",)))
    stored(1)
    with pytest.raises(QueueFull):
        stored(1)


@spec("BP-2")
def test_bound_is_exact_with_many_producers() -> None:
    bound(10)

    def produce() -> bool:
        try:
            stored(1)
        except QueueFull:
            return False
        return True

    assert sum(at_once([produce] * 32)) == 10
    assert depth_of("default") == 10
    assert_store_is_sound()


@spec("BP-4")
def test_near_the_bound_the_caller_is_told() -> None:
    bound(4, warning_threshold=0.5)
    calm, pressed = Caller(), Caller()

    enqueue([DraftFactory.create()], calm)
    enqueue([DraftFactory.create()], pressed)

    assert calm.answer_headers == {}
    assert pressed.answer_headers == {
        "X-OJS-Queue-Depth": "2", "X-OJS-Queue-Bound": "4", "X-OJS-Queue-Pressure": "0.50",
    }  # fmt: skip


@spec("BP-5")
def test_a_batch_fits_as_a_whole_or_not_at_all() -> None:
    bound(3)
    with pytest.raises(QueueFull):
        stored(4)
    assert not Job.objects.exists()

    stored(3)


@spec("BP-6")
def test_block_waits_for_room_and_holds_nothing() -> None:
    bound(1, strategy="block")
    first = stored_ids(1)
    with pytest.raises(QueueFull):
        stored(1)

    with threads(1) as start:
        late = start(lambda: enqueue([DraftFactory.create()], Caller(block_ms=20_000)))
        assert [job.id for job in fetch(FetchRequest(("default",))).jobs] == first
        assert late.result()[0] is not None
    assert_store_is_sound()


@spec("BP-6")
def test_block_gives_up_when_time_is_over() -> None:
    bound(1, strategy="block")
    stored(1)

    with pytest.raises(QueueFull):
        enqueue([DraftFactory.create()], Caller(block_ms=150))


@spec("BP-7")
def test_drop_oldest_makes_room_with_the_oldest_available_jobs() -> None:
    bound(3, strategy="drop_oldest")
    ids = stored_ids(1, priority=9) + stored_ids(2)

    new = stored_ids(2)

    assert [state(job_id) for job_id in ids[:2]] == [State.DISCARDED] * 2
    assert_state(State.AVAILABLE, ids[2], *new)
    assert "queue_full" in str(show(ids[0]).error)
    assert emitted() == ["backpressure.dropped"] * 2
    assert_store_is_sound()


@spec("BP-7")
def test_drop_oldest_refuses_when_nothing_may_be_dropped() -> None:
    bound(2, strategy="drop_oldest")
    stored(2, scheduled_at="+PT1H")

    with pytest.raises(QueueFull):
        stored(1)
    with pytest.raises(QueueFull):
        stored(3)
    assert depth_of("default") == 2


@spec("BP-7")
def test_jobs_that_an_extension_follows_are_not_dropped() -> None:
    bound(2, strategy="drop_oldest")
    kept = enqueue([replace(DraftFactory.create(), watched=True)])[0]
    dropped = stored_ids(1)

    stored(1)

    assert kept is not None
    assert_state(State.AVAILABLE, kept.id)
    assert_state(State.DISCARDED, *dropped)


def test_bp_a_bound_is_exact_inside_a_host_transaction_too() -> None:
    bound(2)
    with transaction.atomic():
        stored(2)
        with pytest.raises(QueueFull):
            stored(1)
    assert depth_of("default") == 2


# --- configuration --------------------------------------------------------------------------------


@spec("contract 10.4")
def test_defaults_of_the_queue_fill_what_a_job_leaves_open() -> None:
    change = {
        "visibility_timeout_ms": 7000, "default_timeout_ms": 8000,
        "default_retry": {"max_attempts": 9, "initial_interval": "PT7S"},
    }  # fmt: skip
    configure("default", change)

    plain = show(stored_ids(1)[0])
    own = show(stored_ids(1, timeout_ms=1000, retry={"max_attempts": 2})[0])

    assert (plain.timeout_ms, plain.max_attempts) == (8000, 9)
    assert (own.timeout_ms, own.max_attempts) == (1000, 2)
    assert '"initial_interval": "PT7S"' in str(own.attributes)
    assert fetch(FetchRequest(("default",))).jobs[0].lease_ms == 7000


def test_a_draft_for_a_queue_without_configuration_is_passed_untouched() -> None:
    stored(1)  # now the queue has a row
    configuration.cache.clear()
    draft = DraftFactory.create()

    assert configuration.apply(configuration.of_queues(["default"]), [draft])[0] is draft


@spec("contract 10.4")
def test_types_that_a_queue_does_not_take_are_refused() -> None:
    configure("default", {"allowed_job_types": ["mail.*"]})

    stored(1, type="mail.send")
    with pytest.raises(InvalidRequest) as caught:
        enqueue([DraftFactory.create(type="mail.send"), DraftFactory.create(type="other")])
    assert (caught.value.details["field"], caught.value.details["index"]) == ("type", 1)
    assert Job.objects.count() == 1


@spec("contract 10.2")
def test_a_queue_that_is_emptied_takes_no_jobs() -> None:
    stored(1)
    Queue.objects.update(draining=True)
    configuration.cache.clear()

    with pytest.raises(QueuePaused):
        stored(1)


@spec("contract 10.4")
def test_a_change_counts_at_once_for_a_cached_configuration() -> None:
    """Check that the storing statement compares the process's configuration version."""
    stored(1)
    with threads(1) as start:  # as another process would
        known = configuration.cache.latest
        start(lambda: bound(1)).result()
        configuration.cache.latest = known

    with pytest.raises(QueueFull):
        stored(1)


@spec("contract 10.4")
def test_producers_at_full_speed_meet_a_new_bound_and_lose_nothing() -> None:
    def produce() -> int:
        done = 0
        while True:
            try:
                enqueue([replace(DraftFactory.create(), queue="raced")])
            except QueueFull:
                return done
            done += 1

    with threads(3) as start:
        producers = [start(produce) for _ in range(3)]
        until(Job.objects.exists)
        configure("raced", {"backpressure": {"max_depth": 1}})
        stored_jobs = sum(producer.result() for producer in producers)

    assert depth_of("raced") == stored_jobs
    assert_store_is_sound()
