"""Equal jobs at once: exactly one is stored. Spec: contract 6.3 (strength: strong), 11.1."""

from collections import Counter
from contextlib import suppress
from threading import Event
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, Duplicate, NotFound, OJSError
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.models import Job as Row
from jobs.models import Unique
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.dead_letter import retry
from tests.asserts import assert_state, assert_store_is_sound, state
from tests.concurrency import at_once, threads, wait_until_blocked
from tests.factories import DraftFactory, JobFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

THREADS = 24


def push(*args: object, **unique: Any) -> Job | OJSError:
    """Enqueue a job and return it, or return the refusal."""
    try:
        (job,) = enqueue([DraftFactory.create(args=list(args), unique=unique)])
    except OJSError as problem:
        return problem
    assert job is not None
    return job


def live_by_fingerprint() -> Counter[bytes]:
    """Count the live jobs of each fingerprint."""
    live = set(Row.objects.filter(state=None).values_list("id", flat=True))
    return Counter(bytes(row.fingerprint) for row in Unique.objects.all() if row.job_id in live)


@spec("contract 6.3")
def test_of_equal_jobs_sent_at_once_one_is_stored() -> None:
    answers = at_once([push] * THREADS)

    passed = [answer for answer in answers if isinstance(answer, Job)]
    refused = [answer for answer in answers if isinstance(answer, Duplicate)]
    assert (len(passed), len(refused)) == (1, THREADS - 1)
    assert {one.details["existing_job_id"] for one in refused} == {passed[0].id}
    assert_store_is_sound()


@spec("contract 6.3")
def test_ignored_jobs_all_answer_with_the_one_that_was_stored() -> None:
    answers = at_once([lambda: push(on_conflict="ignore")] * THREADS)

    assert len({answer.id for answer in answers if isinstance(answer, Job)}) == 1
    assert Counter(answer.deduplicated for answer in answers if isinstance(answer, Job)) == {
        False: 1, True: THREADS - 1,
    }  # fmt: skip
    assert Row.objects.count() == 1


@pytest.mark.parametrize("on_conflict", ["replace", "replace_except_schedule"])
@spec("contract 6.3")
def test_jobs_that_replace_each_other_leave_one(on_conflict: str) -> None:
    answers = at_once([lambda: push(on_conflict=on_conflict)] * THREADS)

    assert all(isinstance(answer, Job) for answer in answers)
    assert Counter(state(str(job_id)) for job_id in Row.objects.values_list("id", flat=True)) == {
        State.AVAILABLE: 1, State.CANCELLED: THREADS - 1,
    }  # fmt: skip
    assert_store_is_sound()


@spec("contract 6.3")
def test_all_strategies_at_once_leave_one_live_job_per_fingerprint() -> None:
    ways = ["reject", "ignore", "replace", "replace_except_schedule"]

    def several(start: int) -> None:
        for n in range(start, start + 4):
            push(n % 3, on_conflict=ways[n % 4])

    at_once([lambda n=n: several(n) for n in range(THREADS)])  # type: ignore[misc]  # binds

    assert set(live_by_fingerprint().values()) == {1}
    assert_store_is_sound()


@pytest.mark.parametrize("on_conflict", ["ignore", "replace"])
@spec("contract 11.1")
def test_batches_with_overlapping_keys_in_any_order_do_not_deadlock(on_conflict: str) -> None:
    def batch(seed: int) -> None:
        keys = [key * (2 * seed + 1) % 40 for key in range(40)]  # a different order for each seed
        enqueue(
            [
                DraftFactory.create(args=[key % 30], unique={"on_conflict": on_conflict})
                for key in keys
            ]
        )

    at_once([lambda seed=seed: batch(seed) for seed in range(16)])  # type: ignore[misc]  # binds

    counts = live_by_fingerprint()
    assert len(counts) == 30
    assert set(counts.values()) == {1}
    assert_store_is_sound()


@spec("contract 6.3")
def test_replacing_jobs_that_workers_take_and_end_cancels_or_lets_them_end() -> None:
    over = Event()

    def work() -> None:
        while not over.is_set():
            for job in fetch(FetchRequest(("default",), count=5)).jobs:
                ack([Ack(job.id)])

    with threads(3) as start:
        workers = [start(work) for _ in range(3)]
        try:
            at_once([lambda: [push(n % 2, on_conflict="replace") for n in range(20)]] * 8)
        finally:
            over.set()
        for worker in workers:
            worker.result()

    assert max(live_by_fingerprint().values(), default=1) == 1
    assert_store_is_sound()


@spec("contract 6.3")
def test_who_ends_a_job_and_enqueues_an_equal_one_does_not_deadlock_with_a_replacement() -> None:
    job = JobFactory.create(state=State.ACTIVE, unique={})

    def replace() -> object:
        return push(on_conflict="replace")

    with threads(1) as start:
        with transaction.atomic():
            ack([Ack(job.id)])  # locks the job
            replacing = start(replace)
            wait_until_blocked()  # it waits for the job, so it holds no fingerprint
            follow_up = push()
        replaced = replacing.result()

    assert isinstance(follow_up, Job)
    assert isinstance(replaced, Job)
    assert_state(State.COMPLETED, job.id)
    assert_state(State.CANCELLED, follow_up.id)
    assert_store_is_sound()


@spec("contract 6.3")
def test_a_fingerprint_in_an_open_transaction_is_waited_for() -> None:
    with threads(1) as start:
        with transaction.atomic():
            first = push()
            second = start(lambda: push(on_conflict="ignore"))
            wait_until_blocked()
        answer = second.result()

    assert isinstance(first, Job)
    assert isinstance(answer, Job)
    assert (answer.id, answer.deduplicated) == (first.id, True)


def test_manual_retries_and_checks_at_once_lose_no_live_job() -> None:
    """Check that no fingerprint is marked as ended while a retry has revived its job."""
    ids = [JobFactory.create(state=State.DISCARDED, unique={}).id for _ in range(30)]

    def revive() -> None:
        for job_id in ids:
            try:
                retry(job_id)
            except (NotFound, Conflict):
                continue

    at_once([revive, *[lambda: [push(states=["active"]) for _ in range(10)]] * 4])

    assert not Unique.objects.filter(job_id__in=ids).exclude(ended=None).exists()
    assert_state(State.AVAILABLE, *ids)


def test_strangers_do_not_wait_for_each_other() -> None:
    """Check that an open transaction with a unique job blocks other fingerprints only by stripe."""
    stored_ids(1)

    def others() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        passed = 0
        for n in range(40):
            with suppress(OperationalError):  # it shares the stripe with the held fingerprint
                passed += isinstance(push(n), Job)
        return passed

    with transaction.atomic(), threads(1) as start:
        push("held")
        assert start(others).result() >= 39
