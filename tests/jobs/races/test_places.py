"""Jobs return while other processes claim from the same lanes. Spec: docs/adr/0025."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Lane, Lease
from jobs.queries import ago
from jobs.services.dispatch import fetch as fetching
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.hints import LowWaterMarks
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import reap
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads, wait_until_blocked
from tests.factories import stored_ids

pytestmark = pytest.mark.usefixtures("store")

BACKLOG = 3000
HELD = 5
CLAIMERS = 6
BATCH = 3


class PerThread:
    """Hints for each thread alone, as if it were a process."""

    def __init__(self) -> None:
        self._own = threading.local()

    def of(self, routes: tuple[int, ...] | None) -> object:
        if not hasattr(self._own, "low_water_marks"):
            self._own.low_water_marks = LowWaterMarks()
        return self._own.low_water_marks.of(routes)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each thread hints of its own claims only."""
    monkeypatch.setattr(fetching, "low_water_marks", PerThread())


def _fetch(count: int = BATCH) -> list[str]:
    return [job.id for job in fetch(FetchRequest(("default",), count)).jobs]


@pytest.mark.usefixtures("processes")
def test_a_job_whose_worker_is_lost_is_next_for_whatever_process_asks() -> None:
    ids = stored_ids(BACKLOG)
    held = _fetch(HELD)
    assert held == ids[:HELD]
    is_back = threading.Event()
    everybody = threading.Barrier(CLAIMERS + 1)

    def claim() -> list[str]:
        for _ in range(30):  # the thread's own hints move far behind the held jobs
            ack([Ack(job_id) for job_id in _fetch()])
        everybody.wait()
        is_back.wait()
        return _fetch()

    with threads(CLAIMERS) as start:
        claims = [start(claim) for _ in range(CLAIMERS)]
        everybody.wait()
        Lease.objects.filter(id__in=held).update(lease_until=ago(1))
        assert reap() == HELD
        is_back.set()
        found = [job_id for claim_ in claims for job_id in claim_.result()]

    assert set(held) <= set(found)
    assert len(set(found)) == len(found) == CLAIMERS * BATCH
    assert_store_is_sound()


@pytest.mark.usefixtures("processes")
def test_jobs_that_come_back_all_the_time_are_never_lost_or_doubled() -> None:
    ids = stored_ids(600)
    done: Counter[str] = Counter()

    def work(seed: int) -> list[str]:
        draw = random.Random(seed)  # noqa: S311 - picks jobs
        ended: list[str] = []
        while found := _fetch(4):
            given = [job_id for job_id in found if draw.random() < 0.4]
            nack([Nack(job_id, None, requeue=True) for job_id in given])
            rest = [job_id for job_id in found if job_id not in given]
            ack([Ack(job_id) for job_id in rest])
            ended += rest
        return ended

    for ended in at_once([partial(work, seed) for seed in range(6)]):
        done.update(ended)
    done.update(_drained())

    assert done == Counter(ids)
    assert not Lane.objects.exclude(returned=None).exists()
    assert_store_is_sound()


def _drained() -> list[str]:
    ended: list[str] = []
    while found := _fetch(50):
        ack([Ack(job_id) for job_id in found])
        ended += found
    return ended


def test_the_mark_stays_for_a_job_that_comes_back_while_a_claim_clears_it() -> None:
    ids = stored_ids(400)
    assert _fetch(300) == ids[:300]
    nack([Nack(ids[0], None, requeue=True)])

    with threads(1) as start:
        with transaction.atomic():
            assert _fetch(1) == [ids[0]]  # it locks the lane and has cleared the mark
            later: Callable[[], object] = partial(nack, [Nack(ids[1], None, requeue=True)])
            back = start(later)
            wait_until_blocked()
        back.result()

    assert Lane.objects.exclude(returned=None).count() == 1
    assert _fetch(2) == [ids[1], ids[300]]
    connection.close()
