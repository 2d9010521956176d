"""Queues bounded in bytes. Spec: contract 27.4."""

from typing import Any

import pytest

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import QueueFull
from jobs.domain.states import State
from jobs.models import Job, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.backpressure import depth_of, load_of
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.queue_config import configure
from jobs.services.operate.queues import stats
from jobs.services.outcome import dead_letter
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_loads_equal_recount, assert_state, assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory, error, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

TEXT = "x" * 1000


def size_of(**members: Any) -> int:
    """Return the size in bytes of a job with these members."""
    (job_id,) = stored_ids(1, queue="measured", **members)
    return int(Job.objects.values_list("bytes", flat=True).get(id=job_id))


def bound(size: int, **more: Any) -> None:
    """Bound the default queue in bytes."""
    configure("default", {"backpressure": {"max_size_bytes": size, **more}})


@spec("contract 27.4")
def test_a_job_counts_with_its_arguments_its_meta_and_what_was_sent_beside() -> None:
    plain = size_of(args=[])

    assert size_of(args=[TEXT]) == plain + len(TEXT) + 2
    assert size_of(args=[], meta={"k": "é"}) == plain + len('"k":"é"'.encode())
    assert size_of(args=[], tags=["a", "b"]) == plain + len('"a","b"')


@spec("BP-3")
def test_bytes_up_to_the_bound_fit_and_one_more_does_not() -> None:
    size = size_of(args=[TEXT])
    bound(3 * size)
    stored(3, args=[TEXT])

    with pytest.raises(QueueFull) as caught:
        stored(1, args=[])

    assert caught.value.details == {
        "queue": "default", "depth": 3 * size, "bound": 3 * size, "unit": "bytes",
        "strategy": "reject", "retryable": True,
    }  # fmt: skip
    assert caught.value.headers["X-OJS-Queue-Bound"] == str(3 * size)


@spec("contract 27.4")
def test_bytes_that_wait_in_any_state_count_and_those_of_active_jobs_do_not() -> None:
    ids = stored_ids(2, args=[TEXT]) + stored_ids(1, args=[TEXT], pending=True)
    later = stored_ids(1, args=[TEXT], scheduled_at="+PT1H")
    size = sum(Job.objects.values_list("bytes", flat=True))
    assert load_of("default").bytes == size
    bound(size)
    with pytest.raises(QueueFull):
        stored(1, args=[])

    fetch(FetchRequest(("default",)))
    stored(1, args=[])

    cancel(later[0])
    assert_loads_equal_recount()
    nack([Nack(ids[0], error())])
    assert_state(State.RETRYABLE, ids[0])
    assert_loads_equal_recount()
    aggregate_events()
    assert_store_is_sound()


@spec("contract 27.4")
def test_every_way_out_of_a_queue_and_back_keeps_the_size_exact() -> None:
    done, failed, given, dead, gone = stored_ids(5, args=[TEXT])
    fetch(FetchRequest(("default",), count=4))
    ack([Ack(done)])
    nack([Nack(failed, error())])
    nack([Nack(given, None, requeue=True)])
    nack([Nack(dead, error(retryable=False))])
    assert_loads_equal_recount()

    cancel(gone)
    dead_letter.retry(dead)
    assert_loads_equal_recount()
    aggregate_events()
    assert_store_is_sound()


@spec("BP-7")
def test_the_oldest_are_dropped_until_the_bytes_fit() -> None:
    small = stored_ids(20, args=[])
    size = load_of("default").bytes
    bound(size, strategy="drop_oldest")
    needed = size_of(args=["x" * (size // 2)])

    (big,) = stored_ids(1, args=["x" * (size // 2)])

    each = size // 20
    gone = -(-needed // each)
    assert_state(State.DISCARDED, *small[:gone])
    assert_state(State.AVAILABLE, *small[gone:], big)
    assert load_of("default").bytes <= size
    assert_store_is_sound()


@spec("BP-7")
def test_more_jobs_than_one_look_finds_can_make_room() -> None:
    small = stored_ids(250, args=[])
    size = load_of("default").bytes
    bound(size, strategy="drop_oldest")

    stored(1, args=["x" * (size - 12 * (size // 250))])

    assert_state(State.DISCARDED, *small[:240])
    assert load_of("default").bytes <= size


@spec("BP-5")
def test_a_request_larger_than_the_bound_is_refused_and_drops_nothing() -> None:
    ids = stored_ids(2, args=[])
    bound(load_of("default").bytes, strategy="drop_oldest")

    with pytest.raises(QueueFull):
        stored(1, args=[TEXT])

    assert_state(State.AVAILABLE, *ids)


@spec("BP-7")
def test_bytes_of_jobs_that_may_not_be_dropped_make_no_room() -> None:
    stored(2, args=[TEXT], scheduled_at="+PT1H")
    bound(load_of("default").bytes, strategy="drop_oldest")

    with pytest.raises(QueueFull):
        stored(1, args=[])


@spec("BP-4")
def test_the_bound_that_is_nearest_is_told() -> None:
    size = size_of(args=[])
    bound(4 * size, max_depth=100, warning_threshold=0.5)
    pressed = Caller()
    stored(1, args=[])

    enqueue([DraftFactory.create(args=[])], pressed)

    assert pressed.answer_headers == {
        "X-OJS-Queue-Depth": str(2 * size), "X-OJS-Queue-Bound": str(4 * size),
        "X-OJS-Queue-Pressure": "0.50",
    }  # fmt: skip
    configure("default", {"max_size": 3})
    with pytest.raises(QueueFull) as caught:
        stored(2, args=[])
    assert (caught.value.details["unit"], caught.value.details["bound"]) == ("jobs", 3)


@spec("BP-9")
def test_statistics_show_the_size_of_queues_that_are_bounded_in_bytes() -> None:
    stored(1)
    assert (stats("default").size_bytes, stats("default").max_size_bytes) == (None, None)

    bound(10_000)

    size = sum(Job.objects.values_list("bytes", flat=True))
    assert (stats("default").size_bytes, stats("default").max_size_bytes) == (size, 10_000)


@spec("contract 10.4")
def test_null_and_zero_take_the_bound_away() -> None:
    for nothing in (None, 0):
        bound(1)
        with pytest.raises(QueueFull):
            stored(1)
        configure("default", {"backpressure": {"max_size_bytes": nothing}})
        stored(1)
    assert Queue.objects.get(name="default").config == {}


@spec("BP-2")
def test_bytes_are_bounded_exactly_with_many_producers_and_workers() -> None:
    """Check that waiting bytes never exceed the bound while jobs of different sizes come and go."""
    size = size_of(args=[])
    most = 10 * size + 3500
    bound(most)

    def produce() -> int:
        kept = 0
        for n in range(12):
            try:
                stored(1, args=["x" * (n * 97 % 700)])
            except QueueFull:
                continue
            kept += 1
        return kept

    def work() -> int:
        ids = [job.id for _ in range(6) for job in fetch(FetchRequest(("default",))).jobs]
        ack([Ack(job_id) for job_id in ids])
        return 0

    def look() -> int:
        assert all(load_of("default").bytes <= most for _ in range(40))
        return 0

    kept = sum(at_once([produce, produce, produce, work, look] * 5))

    done = Job.objects.filter(queue="default", state__isnull=False).count()
    assert depth_of("default") == kept - done
    assert load_of("default").bytes <= most
    with pytest.raises(QueueFull):
        stored(1, args=["x" * most])
    assert_store_is_sound()


@spec("BP-2")
def test_equal_jobs_fill_the_bound_to_the_last_byte() -> None:
    size = size_of()
    bound(10 * size)

    def produce() -> bool:
        try:
            stored(1)
        except QueueFull:
            return False
        return True

    assert sum(at_once([produce] * 32)) == 10
    assert load_of("default").bytes == 10 * size
