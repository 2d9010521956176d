"""Counts are proven under load without false drift. Spec: ADR 0002."""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from django.db import transaction
from django.db.models import F

from jobs import queries
from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.models import Depth, Later, QueueSize, TenantDepth
from jobs.queries import Drift, ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.queue_config import create
from jobs.services.operate import bulk
from jobs.services.operate.queue_removal import delete, drain
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.reconcile import reconcile
from tests.asserts import assert_store_is_sound
from tests.concurrency import threads, wait_until_blocked, wait_until_complete
from tests.factories import DraftFactory, error, stored

pytestmark = pytest.mark.usefixtures("store")

QUEUES = ("a", "b", "old")


def work(number: int) -> None:
    """Run all verbs on jobs of one tenant."""
    for n in range(12):
        queue = QUEUES[n % 2]
        drafts = [DraftFactory.create(queue=queue) for _ in range(4)]
        drafts.append(DraftFactory.create(queue=queue, scheduled_at="+PT1H"))
        enqueue([replace(draft, tenant=f"t{number % 3}") for draft in drafts])
        ids = [job.id for job in fetch(FetchRequest(QUEUES, count=3)).jobs]
        ack([Ack(job_id) for job_id in ids[:1]])
        nack([Nack(job_id, error(), requeue=job_id == ids[-1]) for job_id in ids[1:]])
        with suppress(OJSError):  # another thread may have claimed it
            cancel(drafts[0].id)


def make_due() -> None:
    """Make waiting jobs due and promote them, repeatedly."""
    for _ in range(12):
        Later.objects.exclude(due_at=None).update(due_at=ago(1))
        promote(100)


def move_on() -> None:
    """Delete the queue `old` and move its jobs to `a`."""
    delete("old", "move", "test", "a")
    while drain():
        pass


def while_all_work(*meanwhile: Callable[[], object]) -> None:
    """Run these functions repeatedly until all work is done."""
    over = threading.Event()

    def again(one: Callable[[], object]) -> int:
        for times in count(1):
            one()
            if over.is_set():
                return times
        raise AssertionError

    with threads(len(meanwhile) + 7) as start:
        others = [start(partial(again, one)) for one in meanwhile]
        works = [start(partial(work, n)) for n in range(5)]
        works += [start(make_due), start(move_on)]
        try:
            for one in works:
                one.result()
        finally:
            over.set()
        assert all(other.result() for other in others)


@pytest.fixture
def busy(store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store jobs in a queue that is about to be moved, and counts of the other queues."""
    monkeypatch.setattr(bulk, "SLICE", 7)
    create("a", {}, SYSTEM)
    stored(60, queue="old")
    stored(10, queue="old", scheduled_at="+PT1H")
    drafts = [DraftFactory.create(queue=queue) for queue in ("a", "b")]
    enqueue([replace(draft, tenant="t1") for draft in drafts])
    aggregate_all()


@pytest.mark.usefixtures("busy")
def test_no_drift_is_found_while_everybody_works() -> None:
    found: list[Drift] = []

    def look() -> None:
        found.extend(reconcile())

    while_all_work(look, look, lambda: aggregate_events(25))

    assert found == []
    assert_store_is_sound()


@pytest.mark.usefixtures("busy")
def test_injected_drift_is_found_once_while_everybody_works() -> None:
    found: Counter[tuple[str, str, str | None]] = Counter()
    injected: Counter[tuple[str, str, str | None]] = Counter()
    wrongs = count(1)

    def look() -> None:
        for drift in reconcile():
            found[drift.table, drift.queue, drift.tenant] += drift.excess

    def spoil() -> None:
        number = next(wrongs)
        wrong = Depth.objects.filter(queue="a", state=3).update(jobs=F("jobs") + number)
        injected["ojs_depth", "a", None] += number * wrong
        of_tenant = TenantDepth.objects.filter(tenant="t1", queue="b", state=3)
        injected["ojs_tenant_depth", "b", "t1"] -= of_tenant.update(jobs=F("jobs") - 1)
        sizes = QueueSize.objects.filter(queue="b").update(bytes=F("bytes") + 9)
        injected["ojs_queue_size", "b", None] += 9 * sizes

    while_all_work(look, look, lambda: aggregate_events(25), spoil)
    look()

    assert all(injected.values())
    assert found == injected
    assert reconcile() == []


def test_two_that_look_at_once_set_right_once() -> None:
    stored(3)
    Depth.objects.create(queue="default", state=3, jobs=5)

    with threads(1) as start, transaction.atomic():
        reconcile()
        other = start(reconcile)
        wait_until_blocked()
    assert other.result() == []
    assert_store_is_sound()


def test_an_aggregation_between_finding_and_amending_loses_nothing() -> None:
    aggregate_all()
    stored(3)
    Depth.objects.create(queue="default", state=3, jobs=5)
    wait_until_complete()
    found = queries.drifts()

    assert aggregate_events() == 3
    queries.amend(found)

    assert [drift.excess for drift in found] == [5]
    assert list(Depth.objects.values_list("jobs", flat=True)) == [3]
    assert_store_is_sound()


def aggregate_all() -> None:
    """Aggregate all events."""
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass
