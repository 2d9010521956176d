"""The reader of the event record and its clients. Spec: contract 25.3, ADR 0006."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, transaction

from jobs.domain.errors import RateLimited, RealtimeUnavailable
from jobs.stream import feed as module
from jobs.stream.feed import Feed
from jobs.stream.places import Places
from jobs.stream.subscription import Scope, Subscription
from tests.concurrency import threads
from tests.factories import stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DEADLINE_S = 30


@pytest.fixture
def feed() -> Iterator[Feed]:
    """Return a feed that is closed after the test."""
    made = Feed()
    yield made
    made.close("test")
    if made._thread:
        made._thread.join()


def joined(feed: Feed, scope: Scope | None = None) -> Subscription:
    """Return a client that receives all events."""
    member = Subscription(scope or Scope(), lambda _event: True)
    feed.join(member)
    return member


def next_jobs(member: Subscription, number: int = 1) -> list[str | None]:
    """Return the jobs of the next events."""
    found: list[str | None] = []
    while len(found) < number:
        taken, _ = member.take(DEADLINE_S)
        assert taken, "nothing was told"
        found += [shared.event.job_id for shared in taken]
    return found


@spec("contract 25.3")
def test_what_is_committed_after_joining_is_told_once_to_everybody(feed: Feed) -> None:
    members = [joined(feed) for _ in range(3)]

    ids = stored_ids(3)

    for member in members:
        assert next_jobs(member, 3) == ids


@spec("contract 25.3")
def test_a_scope_reads_its_job_or_queue_alone(feed: Feed) -> None:
    (job_id,) = stored_ids(1, queue="a")
    of_queue = joined(feed, Scope(queue="b"))
    of_job = joined(feed, Scope(job_id=job_id))

    (other,) = stored_ids(1, queue="b")

    assert next_jobs(of_queue) == [other]
    assert of_job.take(0) == ([], None)


@spec("contract 25.3")
def test_what_was_committed_before_joining_is_not_told(feed: Feed, database_url: str) -> None:
    with held_open(database_url):
        stored(1)
        first = joined(feed)
        (between,) = stored_ids(1)
        second = joined(feed)
        (after,) = stored_ids(1)

        assert next_jobs(first, 2) == [between, after]
        assert next_jobs(second) == [after]

    (settled,) = stored_ids(1)
    assert next_jobs(first) == [settled]
    assert next_jobs(second) == [settled]


@spec("contract 25.3")
def test_who_joins_behind_a_long_transaction_is_told_what_is_new(
    feed: Feed, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AHEAD", 3)
    with held_open(database_url):
        stored_ids(10)
        member = joined(feed)

        ids = stored_ids(2)

        assert next_jobs(member, 2) == ids


@contextmanager
def held_open(database_url: str) -> Iterator[None]:
    """Keep a transaction of another connection open."""
    with psycopg.connect(database_url) as other:
        other.execute("SELECT pg_current_xact_id()")
        yield


@spec("contract 25.3")
def test_an_open_transaction_of_somebody_else_does_not_hold_the_streams(feed: Feed) -> None:
    is_open, may_end = threading.Event(), threading.Event()

    def enqueue_slowly() -> list[str]:
        with transaction.atomic():
            ids = stored_ids(1, queue="slow")
            is_open.set()
            may_end.wait(DEADLINE_S)
        return ids

    member = joined(feed)
    with threads(1) as start:
        slow = start(enqueue_slowly)
        is_open.wait(DEADLINE_S)
        (quick,) = stored_ids(1)

        taken, _ = member.take(DEADLINE_S)

        assert [shared.event.job_id for shared in taken] == [quick]
        assert not taken[0].event.is_below_horizon, (
            "its place is not final: a resume begins before it"
        )
        may_end.set()
        assert next_jobs(member) == slow.result()
    assert member.take(0.5) == ([], None), "nothing is told twice"


@spec("contract 25.3")
def test_after_too_many_events_an_old_transaction_is_no_longer_waited_for(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AHEAD", 5)
    is_open, may_end = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            stored_ids(1, queue="slow")
            is_open.set()
            may_end.wait(DEADLINE_S)

    member = joined(feed)
    with threads(1) as start:
        slow = start(write_slowly)
        is_open.wait(DEADLINE_S)
        ids = stored_ids(10) + stored_ids(10)

        assert next_jobs(member, 20) == ids
        assert len(feed._sent) <= 20
        (new,) = stored_ids(1)
        assert next_jobs(member) == [new]  # no event arrives twice
        may_end.set()
        slow.result()


@spec("contract 25.3")
def test_the_reader_goes_on_after_its_connection_was_lost(feed: Feed) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(pid) FROM pg_stat_activity")
        (others,) = cursor.fetchone()  # such as sessions that tests with a browser keep
        member = joined(feed)
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> ALL (%s)",
            [others],
        )
        assert cursor.rowcount == 1

    (job_id,) = stored_ids(1)

    assert next_jobs(member) == [job_id]


@spec("contract 33.3")
def test_a_closed_feed_ends_its_streams_and_takes_no_more(feed: Feed) -> None:
    member = joined(feed)

    feed.close("shutdown")

    assert member.ended == "shutdown"
    with pytest.raises(RealtimeUnavailable):
        joined(feed)


@spec("contract 25.3")
def test_a_client_has_a_hundred_places_and_gives_each_back_once() -> None:
    places = Places()
    taken = [places.take("one") for _ in range(100)]

    with pytest.raises(RateLimited):
        places.take("one")
    places.take("other")
    taken[0]()
    taken[0]()
    places.take("one")

    with pytest.raises(RateLimited):
        places.take("one")
