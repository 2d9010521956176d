"""Purge and deletion of queues. Spec: contract 10.2, 10.4, 24.1."""

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound, QueuePaused
from jobs.domain.states import State
from jobs.models import Job, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import configuration
from jobs.services.lanes.queue_config import configure, configure_template
from jobs.services.operate.queue_removal import delete, drain, purge
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory, error, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def fetched(queue: str) -> list[str]:
    """Claim and return the ids."""
    return [job.id for job in fetch(FetchRequest((queue,), count=100)).jobs]


@spec("contract 24.1")
def test_purge_deletes_the_jobs_in_the_states_that_were_named() -> None:
    ended = JobFactory.create(queue="a", state=State.COMPLETED)
    later = stored_ids(2, queue="a", scheduled_at="+PT1H")
    ready = stored_ids(3, queue="a")
    other = stored_ids(1, queue="b")

    assert purge("a", [State.AVAILABLE, State.COMPLETED], "test") == (4, False)

    left = {str(job_id) for job_id in Job.objects.values_list("id", flat=True)}
    assert left == {*later, *other}
    assert not {ended.id, *ready} & left
    assert_store_is_sound()


@spec("contract 24.1")
def test_purge_of_old_jobs_leaves_the_young() -> None:
    stored(2, queue="a")

    assert purge("a", [State.AVAILABLE], "test", older_than_ms=60_000) == (0, False)
    with pytest.raises(NotFound):
        purge("unknown", [State.AVAILABLE], "test")


@spec("contract 10.4")
def test_a_queue_with_jobs_is_not_deleted_unless_they_may_be_discarded() -> None:
    ids = stored_ids(2, queue="a")

    with pytest.raises(Conflict):
        delete("a", "reject", "test")
    stored(1, queue="a")  # the refused deletion leaves the queue open

    gone = delete("a", "discard", "test")

    assert (gone.jobs_affected, gone.is_draining) == (3, False)
    assert_state(State.CANCELLED, *ids)
    assert not Queue.objects.filter(name="a").exists()
    assert_store_is_sound()


@spec("contract 10.2")
def test_a_queue_with_active_jobs_drains_and_goes_with_the_last() -> None:
    ids = stored_ids(3, queue="a")
    assert fetch(FetchRequest(("a",), count=2)).jobs

    assert delete("a", "discard", "test").is_draining
    assert_state(State.CANCELLED, ids[2])
    with pytest.raises(QueuePaused):
        stored(1, queue="a")
    assert drain() == 0

    ack([Ack(ids[0])])
    nack([Nack(ids[1], error())])  # without the deletion it would be retried
    assert drain() == 1
    assert_state(State.CANCELLED, ids[1])
    assert not Queue.objects.filter(name="a").exists()
    assert_store_is_sound()


@spec("contract 10.4")
def test_a_deleted_queue_stays_away_though_nobody_ever_fetched_from_it() -> None:
    stored(2, queue="a")
    delete("a", "discard", "test")

    assert drain() == 0

    assert not Queue.objects.filter(name="a").exists()


@spec("contract 10.2")
def test_a_deleted_queue_is_made_again_by_its_next_job() -> None:
    stored(1, queue="a")
    delete("a", "discard", "test")

    again = stored_ids(1, queue="a")
    drain()  # the producer remembered the lane, so the enqueue did not create the queue

    assert fetched("a") == again


@spec("contract 10.4")
def test_what_cannot_be_deleted_is_refused() -> None:
    stored(1)

    with pytest.raises(Conflict):
        delete("default", "discard", "test")
    with pytest.raises(NotFound):
        delete("unknown", "discard", "test")


# --- the configuration version --------------------------------------------------------------------


def test_a_queue_that_drains_does_not_change_the_version_while_a_job_runs() -> None:
    stored(1, queue="q")
    fetch(FetchRequest(("q",), 1))
    delete("q", "discard", "test")
    before = configuration.version()

    for _ in range(3):
        drain()

    assert configuration.version() == before


def test_the_same_configuration_again_does_not_change_the_version() -> None:
    wanted = {"retention": {"completed": "PT12H"}, "concurrency": 2}
    configure("q", wanted)
    configure_template(wanted)
    before = configuration.version()

    configure("q", wanted)
    configure_template(wanted)

    assert configuration.version() == before
