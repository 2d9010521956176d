"""A job that returns keeps its place in its lane. Spec: docs/adr/0025."""

from collections.abc import Callable

import pytest

from jobs import queries
from jobs.conf import conf
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Lane, Later, Lease, Ready, Worker
from jobs.queries import ago
from jobs.services.dispatch import fetch as fetching
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.hints import LowWaterMarks
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.outcome.reap import reap, reap_dead_workers
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.services.workers.leave import leave
from jobs.services.workers.workers import remove
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import error, stored_ids

pytestmark = pytest.mark.usefixtures("store")

WORKER = "w1"
BACKLOG = 600  # many more numbers than the distance below a low-water mark


def _fetched(count: int = 1, worker_id: str | None = None) -> list[str]:
    return [job.id for job in fetch(FetchRequest(("default",), count, worker_id)).jobs]


def _expire_lease(job_id: str) -> None:
    Lease.objects.filter(id=job_id).update(lease_until=ago(1))
    reap()


def _lose_worker(job_id: str) -> None:
    Worker.objects.filter(id=WORKER).update(last_heartbeat_at=ago(2 * conf().worker_silence_ms))
    Lease.objects.filter(id=job_id).update(started_at=ago(2 * conf().worker_silence_ms))
    reap_dead_workers()


RETURNS: dict[str, Callable[[str], object]] = {
    "lease expiry": _expire_lease,
    "worker death": _lose_worker,
    "requeue": lambda job_id: nack([Nack(job_id, None, requeue=True)]),
    "worker that leaves": lambda _: leave(WORKER),
    "worker that is removed": lambda _: remove(WORKER, force=True),
}


@pytest.mark.parametrize("way", RETURNS)
def test_a_job_that_comes_back_is_the_next_of_its_lane(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeat(Report(WORKER))
    first, *others = stored_ids(BACKLOG)
    assert _fetched(worker_id=WORKER) == [first]
    here = fetching.low_water_marks
    assert _fetched(300) == others[:300]
    monkeypatch.setattr(
        fetching, "low_water_marks", LowWaterMarks()
    )  # another process has its own hints
    there = fetching.low_water_marks
    assert _fetched(100) == others[300:400]

    RETURNS[way](first)

    assert _fetched(2) == [first, others[400]]
    assert there is fetching.low_water_marks
    monkeypatch.setattr(fetching, "low_water_marks", here)
    assert _fetched(2) == others[401:403]
    assert_store_is_sound()


def test_jobs_that_come_back_together_keep_their_order() -> None:
    ids = stored_ids(BACKLOG)
    assert _fetched(500) == ids[:500]

    for chosen in (ids[17:200:3], ids[1:17:2], ids[400:402]):
        nack([Nack(job_id, None, requeue=True) for job_id in reversed(chosen)])

    returned = sorted([*ids[17:200:3], *ids[1:17:2], *ids[400:402]], key=ids.index)
    found = [job_id for _ in range(8) for job_id in _fetched(len(returned) // 8 + 1)]
    assert found[: len(returned)] == returned
    assert found[len(returned) :] == ids[500 : 500 + len(found) - len(returned)]


def test_the_last_job_of_an_empty_lane_comes_back() -> None:
    ids = stored_ids(3)
    assert _fetched(5) == ids
    assert _fetched(5) == []
    assert not Lane.objects.filter(active=True).exists()
    later = stored_ids(1)

    nack([Nack(ids[1], None, requeue=True)])

    assert _fetched(5) == [ids[1], *later]


def test_the_mark_of_a_lane_goes_with_the_jobs_that_came_back() -> None:
    ids = stored_ids(BACKLOG)
    _fetched(500)
    nack([Nack(ids[3], None, requeue=True), Nack(ids[9], None, requeue=True)])
    assert Lane.objects.exclude(returned=None).count() == 1

    assert _fetched() == [ids[3]]
    assert Lane.objects.exclude(returned=None).count() == 1
    assert _fetched() == [ids[9]]

    assert not Lane.objects.exclude(returned=None).exists()
    assert _fetched() == [ids[500]]


def test_a_lease_of_the_release_before_has_no_place_and_its_job_goes_to_the_end() -> None:
    first, second = stored_ids(2)
    assert _fetched() == [first]
    Lease.objects.filter(id=first).update(seq=None)

    nack([Nack(first, None, requeue=True)])

    assert _fetched(2) == [second, first]


def test_a_retry_goes_by_the_time_when_it_is_due() -> None:
    first, *others = stored_ids(3)
    assert _fetched() == [first]
    nack([Nack(first, error())])
    assert_state(State.RETRYABLE, first)

    Later.objects.filter(id=first).update(due_at=ago(1))
    promote()

    assert _fetched(3) == [*others, first]


def test_a_manual_retry_goes_to_the_end() -> None:
    first, *others = stored_ids(3)
    assert _fetched() == [first]
    nack([Nack(first, error(code="DEAD_LETTER"))])

    retry(first)

    assert _fetched(3) == [*others, first]


def test_a_job_that_came_back_may_be_completed() -> None:
    first = stored_ids(1)[0]
    for _ in range(3):
        assert _fetched() == [first]
        nack([Nack(first, None, requeue=True)])
    assert _fetched() == [first]

    ack([Ack(first)])

    assert_state(State.COMPLETED, first)
    assert_store_is_sound()


def test_a_job_that_came_back_does_not_hide_how_long_others_wait() -> None:
    first, second = stored_ids(2)
    Ready.objects.filter(id=second).update(enqueued_at=ago(3_600_000))
    assert _fetched() == [first]

    nack([Nack(first, None, requeue=True)])

    since = queries.oldest_at(["default"], None)["default"]
    assert since == Ready.objects.get(id=second).enqueued_at
