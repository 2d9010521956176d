"""The listener that waits for the ends of jobs."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import connection

from jobs.domain.errors import BackendUnavailable
from jobs.services.outcome.cancel import cancel
from jobs.services.read import awaiting
from jobs.services.read.awaiting import Listener, Unseen
from tests.concurrency import until
from tests.factories import stored_ids

WAIT_S = 30


@pytest.fixture
def listener(store: None) -> Iterator[Listener]:
    """Return a listener of its own."""
    made = Listener()
    yield made
    made.stop()


def named() -> int:
    """Return the number of rows of listeners."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ojs_awaited")
        return int(cursor.fetchone()[0])


def test_a_job_that_does_not_exist_is_unseen(listener: Listener) -> None:
    job_id = str(uuid4())

    future = listener.watch(job_id)

    with pytest.raises(Unseen):
        future.result(WAIT_S)


def test_each_job_wakes_its_own_waiters(listener: Listener) -> None:
    first, second = stored_ids(2)
    futures = [listener.watch(job_id) for job_id in (first, first, second)]
    until(lambda: named() == 2)

    cancel(first)

    assert [future.result(WAIT_S) for future in futures[:2]] == [None, None]
    assert not futures[2].done()


def test_a_job_that_has_ended_before_is_told_at_once(listener: Listener) -> None:
    (job_id,) = stored_ids(1)
    cancel(job_id)

    assert listener.watch(job_id).result(WAIT_S) is None


def test_the_rows_of_waiters_that_left_are_removed(listener: Listener) -> None:
    (job_id,) = stored_ids(1)
    futures = [listener.watch(job_id) for _ in range(2)]
    until(lambda: named() == 1)

    for future in futures:
        listener.leave(job_id, future)

    until(lambda: named() == 0)


def test_a_listener_that_died_leaves_no_row_for_ever(listener: Listener) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ojs_awaited VALUES (%s, %s, now() - interval '1 s')", [uuid4(), uuid4()]
        )
    (job_id,) = stored_ids(1)

    listener.leave(job_id, listener.watch(job_id))

    until(lambda: named() == 0)


def test_all_jobs_are_looked_at_again_in_time(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notification that never came delays a waiter, and no more."""
    monkeypatch.setattr(awaiting, "RENEW_S", 0.05)
    (job_id,) = stored_ids(1)
    future = listener.watch(job_id)
    until(lambda: named() == 1)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ojs_finished DISABLE TRIGGER ojs_tell_awaited")
        try:
            cancel(job_id)
        finally:
            cursor.execute("ALTER TABLE ojs_finished ENABLE TRIGGER ojs_tell_awaited")

    assert future.result(WAIT_S) is None


def test_a_process_waits_for_a_bounded_number_of_jobs(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaiting, "MOST", 1)
    first, second = stored_ids(2)
    listener.watch(first)

    with pytest.raises(BackendUnavailable, match="waits for 1 jobs already"):
        listener.watch(second)


def test_a_stopped_listener_starts_again(listener: Listener) -> None:
    (job_id,) = stored_ids(1)
    cancel(job_id)
    listener.watch(job_id).result(WAIT_S)
    listener.stop()

    assert listener.watch(job_id).result(WAIT_S) is None


def test_a_fork_has_no_listener_of_its_parent(listener: Listener) -> None:
    (job_id,) = stored_ids(1)
    listener.watch(job_id)

    child = os.fork()
    if child == 0:
        os._exit(0 if listener._thread is None and not listener._waiters else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert listener._thread is not None
