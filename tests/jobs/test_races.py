"""Claims by many threads on real connections."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.envelope import parse_job
from jobs.domain.states import CODES, State
from jobs.models import Finished, Later, Lease, Ready
from jobs.queries import depths
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.record.aggregate import aggregate_events
from tests.spec import spec

JOBS, THREADS = 5000, 16

pytestmark = pytest.mark.usefixtures("store")


def _put(number: int) -> set[str]:
    drafts = [
        parse_job(
            {"type": "race.test", "args": [n], "options": {"queue": "race", "priority": n % 3}}
        )
        for n in range(number)
    ]
    return {job.id for job in enqueue(drafts) if job is not None}


@spec("FS-4.1-a")
def test_fetch_by_16_threads_hands_out_each_job_once() -> None:
    stored = _put(JOBS)
    claimed: Counter[str] = Counter()
    lock = threading.Lock()

    def work(_: int) -> None:
        while jobs := fetch(FetchRequest(("race",), count=7)).jobs:
            with lock:
                claimed.update(job.id for job in jobs)
        connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    while jobs := fetch(FetchRequest(("race",), count=100)).jobs:
        claimed.update(job.id for job in jobs)

    assert set(claimed) == stored
    assert set(claimed.values()) == {1}


def test_enqueue_fetch_and_ack_at_once_lose_nothing() -> None:
    stored: set[str] = set()
    done: Counter[str] = Counter()
    lock = threading.Lock()
    producing = threading.Event()

    def produce(_: int) -> None:
        for _round in range(20):
            ids = _put(10)
            with lock:
                stored.update(ids)
        connection.close()

    def consume(_: int) -> None:
        while not producing.is_set() or Ready.objects.exists():
            jobs = fetch(FetchRequest(("race",), count=5)).jobs
            ended = ack([Ack(job.id) for job in jobs])
            with lock:
                done.update(row.id for row in ended if not isinstance(row, Exception))
        connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        consumers = [pool.submit(consume, n) for n in range(8)]
        list(pool.map(produce, range(8)))
        producing.set()
        for consumer in consumers:
            consumer.result()

    assert set(done) == stored
    assert set(done.values()) == {1}


def test_counts_after_races_equal_a_recount() -> None:
    _put(300)
    jobs = fetch(FetchRequest(("race",), count=100)).jobs
    ack([Ack(job.id) for job in jobs[:40]])
    aggregate_events()
    aggregate_events()

    counted = depths(["race"])["race"]

    assert counted == {
        CODES[State.AVAILABLE]: Ready.objects.count(),
        CODES[State.ACTIVE]: Lease.objects.count(),
        CODES[State.COMPLETED]: Finished.objects.count(),
    }
    assert Later.objects.count() == 0
