"""The configuration that new queues get. Spec: contract 10.4."""

from collections.abc import Callable
from functools import partial

import pytest

from jobs import queries
from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import InvalidRequest, QueueFull
from jobs.models import Job, Limit, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import configuration
from jobs.services.lanes.queue_config import (
    config_of,
    configure,
    configure_template,
    create,
    template,
)
from jobs.services.operate.queue_removal import delete, drain
from jobs.services.operate.queues import pause
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads, until
from tests.factories import DraftFactory, stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

TWO = {"backpressure": {"max_depth": 2}}


def concurrency(queue: str) -> object:
    """Return the queue's limit of active jobs, as the claim reads it."""
    limit_id = Queue.objects.values_list("limit_id", flat=True).get(name=queue)
    limit = Limit.objects.get(key=queue, id=limit_id or 0)
    return (limit.policy or {})["concurrency"]


@spec("contract 10.4")
def test_the_first_job_of_a_new_queue_goes_by_the_template_already() -> None:
    configure_template({"allowed_job_types": ["mail.*"], "default_timeout_ms": 7000})

    with pytest.raises(InvalidRequest):
        stored(1, queue="new", type="other")
    (job,) = stored(1, queue="new", type="mail.send")

    assert job.timeout_ms == 7000
    assert config_of("new") == template()


@spec("contract 10.4")
def test_a_bound_of_the_template_bounds_new_queues_one_by_one() -> None:
    configure_template(TWO)

    with pytest.raises(QueueFull):
        stored(3, queue="a")
    stored(2, queue="a")
    stored(2, queue="b")
    with pytest.raises(QueueFull):
        stored(1, queue="b")


@pytest.mark.parametrize(
    "make",
    [
        lambda: stored(1, queue="new"),
        lambda: pause("new"),
        lambda: configure("new", {}),
        lambda: create("new", {}, SYSTEM),
    ],
    ids=["job", "pause", "configuration", "creation"],
)
@spec("contract 10.4")
def test_whatever_makes_a_queue_makes_it_by_the_template(make: Callable[[], object]) -> None:
    configure_template({**TWO, "concurrency": 3})

    make()

    assert config_of("new") == {"backpressure": {"max_depth": 2}, "concurrency": 3}
    assert concurrency("new") == 3


@spec("contract 10.4")
def test_what_a_queue_is_told_counts_before_the_template_and_null_stays_null() -> None:
    configure_template({**TWO, "concurrency": 3, "visibility_timeout_ms": 5000})

    config = configure("new", {"concurrency": 9, "visibility_timeout_ms": None})

    assert config == {"backpressure": {"max_depth": 2}, "concurrency": 9}
    assert concurrency("new") == 9


@spec("contract 10.4")
def test_queues_that_are_there_keep_their_configuration() -> None:
    stored(1, queue="old")
    configure("told", {"concurrency": 1})

    configure_template(TWO)
    stored(5, queue="old")

    assert (config_of("old"), config_of("told")) == ({}, {"concurrency": 1})


@spec("contract 10.4")
def test_a_rate_that_a_job_brings_is_added_to_the_template() -> None:
    configure_template({"concurrency": 3})

    stored(1, queue="new", rate_limit={"max_per_second": 5})

    rate = {"limit": 5, "period": "PT1S"}
    assert config_of("new") == {"concurrency": 3, "rate_limit": rate}


@spec("contract 10.4")
def test_limits_of_the_template_hold_from_the_first_fetch_on() -> None:
    configure_template({"concurrency": 2})
    stored(5, queue="a")
    stored(5, queue="b")

    assert len(fetch(FetchRequest(("a", "b"), count=10)).jobs) == 4
    assert_store_is_sound()


@spec("contract 10.4")
def test_a_queue_that_is_deleted_and_made_again_takes_the_template_of_the_day() -> None:
    configure_template({"concurrency": 2})
    stored(1, queue="a")
    delete("a", "discard", "test")
    configure_template({"concurrency": 4})

    stored(6, queue="a")
    drain()

    assert concurrency("a") == 4
    assert len(fetch(FetchRequest(("a",), count=10)).jobs) == 4


@spec("contract 10.4")
def test_a_queue_that_the_loop_makes_again_has_the_template() -> None:
    stored(1, queue="a")
    Queue.objects.all().delete()
    configure_template(TWO)

    drain()

    assert config_of("a") == template()


@spec("contract 10.4")
def test_a_change_of_the_template_counts_at_once_for_who_knew_the_old_one() -> None:
    stored(1)
    configuration.of_queues(["new"])
    with threads(1) as start:  # as another process would
        known = configuration.cache.latest
        start(lambda: configure_template(TWO)).result()
        configuration.cache.latest = known

    with pytest.raises(QueueFull):
        stored(3, queue="new")


@spec("contract 10.4")
def test_a_template_without_limits_makes_none_and_resets_to_nothing() -> None:
    configure_template({"concurrency": 2})
    assert configure_template({"concurrency": None}) == {}

    stored(1, queue="new")

    assert config_of("new") == {}
    assert not Limit.objects.exists()


@spec("contract 10.4")
def test_a_template_that_is_wrong_changes_nothing() -> None:
    configure_template(TWO)

    with pytest.raises(InvalidRequest):
        configure_template({"concurrency": -1})
    with pytest.raises(InvalidRequest):
        configure_template({"unknown": 1}, strict=True)

    assert template() == TWO


@spec("contract 10.4")
def test_producers_and_operators_who_make_one_queue_at_once_agree() -> None:
    """Check that creation and configuration of a queue never deadlock.

    Each locks the queue before its limit. The queue's own configuration wins over the template.
    """
    configure_template({"concurrency": 2})
    names = [f"q{n}" for n in range(8)]

    def produce() -> None:
        for name in names:
            enqueue([DraftFactory.create(queue=name)])

    def operate() -> None:
        for name in reversed(names):
            configure(name, {"concurrency": 5})

    at_once([produce, operate] * 4)

    assert {concurrency(name) for name in names} == {5}
    assert Job.objects.count() == 32
    assert_store_is_sound()


@spec("contract 10.4")
def test_a_bound_of_the_template_meets_producers_at_full_speed() -> None:
    def produce(n: int) -> int:
        done = 0
        while True:
            try:
                enqueue([DraftFactory.create(queue=f"q{n}-{done // 5}")])
            except QueueFull:
                return done
            done += 1

    with threads(3) as start:
        producers = [start(partial(produce, n)) for n in range(3)]
        until(Job.objects.exists)
        configure_template({"backpressure": {"max_depth": 1}})
        stored_jobs = sum(producer.result() for producer in producers)

    assert Job.objects.count() == stored_jobs
    unbounded = [q.name for q in Queue.objects.all() if not q.config]
    depths = queries.depths()
    assert all(sum(depths[q.name].values()) == 1 for q in Queue.objects.all() if q.config)
    assert unbounded
