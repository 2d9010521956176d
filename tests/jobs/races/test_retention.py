"""Retention racing other operations on the same jobs. Spec: contract 10.3, 10.6, 28.3."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import NotFound
from jobs.domain.states import State
from jobs.models import Event, Finished, ResultExpiry, Total
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome import dead_letter
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.retain import Retainer
from jobs.services.read.show import show
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_state, assert_store_is_sound, removed_counts
from tests.concurrency import at_once, threads, wait_until_complete
from tests.factories import error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store", "at_once_over")

JOBS = 150
OVER = "PT0.001S"  # expired by the time of the next look


@pytest.fixture
def at_once_over(settings: Any, store: None) -> None:
    """Let retention expire as soon as a job ends."""
    ages = ("COMPLETED", "CANCELLED", "DISCARDED", "DEAD_LETTER")
    settings.OJS = {**settings.OJS, **{f"RETENTION_{age}": OVER for age in ages}}


def aggregate_all() -> None:
    wait_until_complete()
    aggregate_events()
    while aggregate_events():
        pass


def discarded() -> list[str]:
    ids = stored_ids(JOBS)
    claimed = [
        job.id for _ in range(2) for job in fetch(FetchRequest(("default",), count=100)).jobs
    ]
    nack([Nack(job_id, error(retryable=False)) for job_id in claimed])
    assert_state(State.DISCARDED, *ids)
    aggregate_all()
    return ids


def prune(batch: int = 7) -> Callable[[], int]:
    """Return a function that prunes all expired jobs in small batches."""

    def run() -> int:
        retain, total = Retainer(), 0
        while removed := retain(batch):
            total += removed
        return total

    return run


def each(verb: Callable[[str], object], ids: list[str]) -> Callable[[], set[str]]:
    """Return a function that applies a verb to each job and returns the ids that still existed."""

    def run() -> set[str]:
        done = set()
        for job_id in ids:
            try:
                verb(job_id)
            except NotFound:
                continue
            done.add(job_id)
        return done

    return run


@spec("contract 28.3")
def test_of_several_pruners_each_job_is_removed_by_one() -> None:
    discarded()

    removed = at_once([prune(), prune(), prune(), prune(1)])

    # a pruner skips rows that another pruner has locked; the next round gets them
    removed.append(prune()())
    assert sum(removed) == JOBS
    assert sum(removed_counts()) == JOBS
    assert not Row.objects.exists()
    assert_store_is_sound()


@spec("contract 28.3")
def test_a_job_is_retried_or_deleted_or_pruned_but_once() -> None:
    ids = discarded()

    _, _, retried, deleted = at_once(
        [prune(), prune(), each(dead_letter.retry, ids[::-1]), each(dead_letter.delete, ids[::3])]
    )

    prune()()
    assert isinstance(retried, set)
    assert isinstance(deleted, set)
    assert not retried & deleted
    assert {str(row.id) for row in Row.objects.all()} == retried
    assert_state(State.AVAILABLE, *retried)
    assert not Finished.objects.exists()
    assert_store_is_sound()


@spec("contract 28.3")
def test_a_job_that_is_read_meanwhile_is_whole_or_gone() -> None:
    ids = discarded()

    def read() -> set[str | None]:
        found: set[str | None] = set()
        for job_id in ids:
            try:
                found.add(show(job_id).type)
            except NotFound:
                found.add(None)
        return found

    seen = at_once([prune(3), read, read])

    assert set().union(*seen[1:]) <= {"tests.noop", None}  # type: ignore[arg-type]


@spec("contract 10.3")
def test_counts_stay_exact_under_writers_pruners_and_aggregations() -> None:
    writing = threading.Event()
    runs, size, writers = 15, 6, 3

    def write() -> None:
        for _ in range(runs):
            stored_ids(size)
            ids = [job.id for job in fetch(FetchRequest(("default",), count=size)).jobs]
            ack([Ack(job_id) for job_id in ids[::2]])
            nack([Nack(job_id, error(retryable=False)) for job_id in ids[1::2]])

    def keep_pruning() -> int:
        removed = 0
        while not writing.is_set():
            aggregate_events(50)
            removed += prune(5)()
            assert all(n >= 0 for n in queries.depths().get("default", {}).values())
        return removed

    with threads(writers + 2) as start:
        pruners = [start(keep_pruning) for _ in range(2)]
        for writer in [start(write) for _ in range(writers)]:
            writer.result()
        writing.set()
        for pruner in pruners:
            pruner.result()
    aggregate_all()
    prune()()

    assert_store_is_sound()
    aggregate_all()
    assert_store_is_sound()
    assert not Row.objects.exclude(state=None).exists()
    assert Total.objects.get().enqueued == runs * size * writers


def test_results_that_expire_and_jobs_that_leave_do_not_block_each_other() -> None:
    stored_ids(JOBS, result_ttl=1)
    for _ in range(2):
        claimed = fetch(FetchRequest(("default",), count=100)).jobs
        ack([Ack(job.id, b"1") for job in claimed])
    aggregate_all()
    ResultExpiry.objects.update(due_at=queries.ago(1000))

    def expire() -> int:
        return sum(queries.expire_results(3) for _ in range(JOBS))

    at_once([expire, prune(4), expire, prune(5)])

    prune()()
    assert not ResultExpiry.objects.exists()
    assert not Row.objects.exists()
    assert_store_is_sound()


def test_events_go_once_with_several_pruners(settings: Any) -> None:
    settings.OJS = {**settings.OJS, "RETENTION_EVENT_ROWS": 10}
    for _ in range(60):
        stored_ids(1)
    aggregate_all()

    removed = at_once([prune(1), prune(2), prune(1)])

    assert sum(removed) == 50
    assert Event.objects.count() == 10
    connection.close()
