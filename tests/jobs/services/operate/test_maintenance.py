"""Maintenance holds back all jobs at once and ends by itself. Spec: contract 24.1."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Audit, Event, Later, Maintenance
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import maintenance
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.expire import expire
from jobs.services.outcome.promote import due_in_ms, promote
from tests.asserts import assert_state
from tests.factories import JobFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")

WHO = Caller("tester")


def claimed() -> int:
    return len(fetch(FetchRequest(("default",), count=10, worker_id="w1")).jobs)


def test_fetch_gets_nothing_and_enqueue_goes_on() -> None:
    running = JobFactory.create(state=State.ACTIVE, queue="other")
    maintenance.start(WHO, reason="move", duration_ms=None)

    ids = stored_ids(2)

    assert claimed() == 0
    assert_state(State.AVAILABLE, *ids)
    assert ack([Ack(running.id)])[0]
    maintenance.end(WHO)
    assert claimed() == 2


def test_nothing_is_promoted_and_the_loop_does_not_spin() -> None:
    job = JobFactory.create(state=State.SCHEDULED)
    Later.objects.update(due_at=ago(1000))
    maintenance.start(WHO, reason=None, duration_ms=None)

    assert promote() == 0
    assert due_in_ms() is None
    assert claimed() == 0
    assert expire() == 0

    maintenance.end(WHO)
    assert promote() == 1
    assert_state(State.AVAILABLE, job.id)


def test_it_ends_by_itself() -> None:
    stored_ids(1)
    maintenance.start(WHO, reason=None, duration_ms=60_000)
    assert maintenance.is_on()
    assert claimed() == 0

    Maintenance.objects.update(ends_at=Now() - timedelta(seconds=1))

    assert not maintenance.is_on()
    assert maintenance.maintenance() is None
    assert claimed() == 1


def test_starting_again_changes_the_end_and_tells_nothing_new() -> None:
    maintenance.start(WHO, reason="a", duration_ms=60_000)
    began = Maintenance.objects.get().started_at
    maintenance.start(WHO, reason="b", duration_ms=None)

    found = Maintenance.objects.get()
    assert (found.started_at, found.ends_at, found.reason) == (began, None, "b")
    assert Event.objects.filter(kind=Kind.MAINTENANCE_STARTED).count() == 1
    assert Audit.objects.filter(action="maintenance.started").count() == 2


def test_one_that_is_over_starts_anew() -> None:
    maintenance.start(WHO, reason="a", duration_ms=60_000)
    Maintenance.objects.update(
        started_at=Now() - timedelta(hours=1), ends_at=Now() - timedelta(seconds=1)
    )
    before = Maintenance.objects.get().started_at

    maintenance.start(WHO, reason=None, duration_ms=None)

    assert Maintenance.objects.get().started_at > before
    assert Event.objects.filter(kind=Kind.MAINTENANCE_STARTED).count() == 2


def test_ending_what_is_not_on_is_harmless() -> None:
    maintenance.end(WHO)

    assert not Event.objects.filter(kind=Kind.MAINTENANCE_ENDED).exists()
