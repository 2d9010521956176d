"""The reaper racing requests of workers. Spec: contract 9.5."""

import pytest
from django.db import connection, transaction

from jobs import queries
from jobs.conf import conf
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.retry import visibility_error
from jobs.domain.states import State
from jobs.models import Lease, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import fail
from jobs.services.outcome.reap import reap_dead_workers
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import threads, wait_until_blocked
from tests.factories import stored_ids

pytestmark = pytest.mark.usefixtures("store")

WORKER = "w1"


def _silent(number: int = 1) -> list[str]:
    """Let a worker hold jobs, with its heartbeat and its leases long ago."""
    heartbeat(Report(WORKER))
    stored_ids(number)
    held = _fetch(number)
    long_ago = ago(2 * conf().worker_silence_ms)
    Worker.objects.update(last_heartbeat_at=long_ago)
    Lease.objects.update(started_at=long_ago)
    return held


def _fetch(count: int = 1) -> list[str]:
    return [job.id for job in fetch(FetchRequest(("default",), count, WORKER)).jobs]


def test_the_reaper_passes_a_worker_by_whose_fetch_is_not_committed() -> None:
    held = _silent()
    stored_ids(1)

    with threads(1) as start:
        with transaction.atomic():
            granted = _fetch()
            assert start(reap_dead_workers).result() == 0
        assert start(reap_dead_workers).result() == 0

    assert_state(State.ACTIVE, *held, *granted)


def test_a_fetch_keeps_what_it_gets_while_the_reaper_buries_its_worker() -> None:
    held = _silent()
    stored_ids(1)

    with threads(1) as start, transaction.atomic():
        queries.bury(conf().worker_silence_ms, 10)
        # it cannot store its sign of life: the worker's row is locked
        granted = start(_fetch).result()
    reap_dead_workers()

    assert_state(State.AVAILABLE, *held)
    assert_state(State.ACTIVE, *granted)
    assert_store_is_sound()


def test_a_heartbeat_waits_until_the_reaper_has_taken_the_jobs() -> None:
    held = _silent(2)
    queries.bury(conf().worker_silence_ms, 10)

    with threads(1) as start:
        with transaction.atomic():
            assert len(queries.orphans(conf().worker_silence_ms, 10)) == 2
            beat = start(lambda: heartbeat(Report(WORKER, active_ids=tuple(held))))
            wait_until_blocked()
            reap_dead_workers()
        assert beat.result().extended == []

    assert_state(State.AVAILABLE, *held)


def test_the_reaper_leaves_the_jobs_of_a_worker_that_is_just_heard_of() -> None:
    held = _silent(2)
    queries.bury(conf().worker_silence_ms, 10)

    with threads(1) as start:
        with transaction.atomic():
            ack([Ack(held[1])])
            assert start(reap_dead_workers).result() == 0
        assert start(reap_dead_workers).result() == 0

    assert_state(State.ACTIVE, held[0])


def test_a_lease_that_is_extended_after_the_reaper_has_read_it_goes_on() -> None:
    held = _silent()
    Lease.objects.update(lease_until=ago(1))
    found = queries.overdue(10)
    heartbeat(Report(WORKER, active_ids=tuple(held)))

    ended = fail([(item, visibility_error()) for item in found])

    assert ended == []
    assert_state(State.ACTIVE, *held)


def test_a_lease_that_is_extended_while_the_reaper_takes_it_goes_on() -> None:
    held = _silent()
    Lease.objects.update(lease_until=ago(1))
    found = queries.overdue(10)

    with threads(1) as start:
        with transaction.atomic():
            heartbeat(Report(WORKER, active_ids=tuple(held)))
            taken = start(lambda: fail([(item, visibility_error()) for item in found]))
            wait_until_blocked()
        assert taken.result() == []

    assert_state(State.ACTIVE, *held)
    connection.close()
