"""The scratch store: the same claim on other tables, with its own clock.

Live tables stay untouched.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest, LaneKey
from jobs.models import Event, Job, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.upkeep.scratch import PREFIX, Scratch, ScratchJob
from jobs.services.upkeep.scratch import scratch as open_scratch
from scheduling.services import pool_cache
from tests.concurrency import threads
from tests.factories import stored

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Open a scratch store; the cached pools are read before."""
    pools = pool_cache.read()
    with open_scratch() as opened, pool_cache.standing(pools):
        yield opened


def left() -> list[str]:
    """Return the names of all scratch schemas."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", [f"{PREFIX}%"])
        return [row[0] for row in cursor.fetchall()]


def written() -> list[tuple[object, ...]]:
    """Return the numbers of inserted, updated and deleted rows of each live table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables"
            " WHERE schemaname = 'public' ORDER BY relname"
        )
        return list(cursor.fetchall())


def lanes(*tenants: str, queue: str = "a") -> list[LaneKey]:
    """Return lanes of a queue."""
    return [LaneKey(queue, 0, tenant) for tenant in tenants]


@pytest.mark.usefixtures("store")
def test_live_tables_are_not_touched() -> None:
    stored(3, queue="a")
    before, rows = written(), Job.objects.count()

    with scratch() as opened:
        opened.set_clock(BEGINNING)
        opened.configure({"a": {"concurrency": 2}})
        (lane,) = lanes("blue")
        opened.enqueue([ScratchJob(n, lane) for n in range(5)])
        assert opened.claim(FetchRequest(("a",), 5))[0] == [0, 1]
        opened.complete([0, 1])
        assert Ready.objects.count() == 3  # in this thread, the models read the scratch tables
        assert opened.claim(FetchRequest(("a",), 5))[0] == [2, 3]

    assert written() == before
    assert Job.objects.count() == rows == 3
    assert left() == []


@pytest.mark.usefixtures("store")
def test_time_is_what_it_is_told_to_be() -> None:
    with scratch() as opened:
        opened.set_clock(BEGINNING)
        opened.configure({"a": {"rate_limit": {"limit": 1, "period": "PT10S"}}})
        opened.enqueue([ScratchJob(n, lane) for n, lane in enumerate(lanes("t", "t"))])
        assert opened.claim(FetchRequest(("a",), 2)) == ([0], None)
        assert opened.claim(FetchRequest(("a",), 2)) == ([], 10_000)
        opened.set_clock(BEGINNING + timedelta(seconds=11))
        assert opened.claim(FetchRequest(("a",), 2))[0] == [1]
        at = list(Event.objects.filter(kind=3).order_by("seq").values_list("at", flat=True))

    assert at == [BEGINNING, BEGINNING + timedelta(seconds=11)]


@pytest.mark.usefixtures("store")
def test_a_claim_decides_as_the_live_one() -> None:
    chance = random.Random(7)  # noqa: S311 - chooses lanes of this test
    # one tenant per queue, because the order of lanes with equal virtual times is undefined
    picked = [LaneKey(q, chance.choice((0, 0, 5)), f"of-{q}") for q in chance.choices("abc", k=60)]
    live = [
        stored(1, queue=k.queue, priority=k.priority, meta={"tenant_id": k.tenant})[0].id
        for k in picked
    ]
    number = {job_id: n for n, job_id in enumerate(live)}
    counts = [chance.randint(1, 5) for _ in range(40)]
    asked = [FetchRequest(tuple("abc"[: chance.randint(1, 3)]), count) for count in counts]

    with scratch() as opened:
        opened.set_clock(BEGINNING)
        for n, lane in enumerate(picked):
            opened.enqueue([ScratchJob(n, lane)])
        simulated = [opened.claim(request)[0] for request in asked]

    real = [[number[job.id] for job in fetch(request).jobs] for request in asked]
    assert simulated == real
    assert sum(map(len, real)) >= 50


@pytest.mark.usefixtures("store")
def test_nothing_is_left_after_an_exception() -> None:
    before = connection.connection

    with pytest.raises(ZeroDivisionError), scratch():
        raise ZeroDivisionError

    assert left() == []
    assert connection.connection is before


@pytest.mark.usefixtures("store")
def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {PREFIX}0dead")
        cursor.execute(f"CREATE TABLE {PREFIX}0dead.ojs_job (id int)")

    with threads(1) as start, scratch() as opened:
        opened.set_clock(BEGINNING)

        def other() -> None:
            with scratch() as second:
                second.set_clock(BEGINNING)
                second.enqueue([ScratchJob(1, LaneKey("a", 0, "t"))])

        start(other).result()
        opened.enqueue([ScratchJob(7, LaneKey("a", 0, "t"))])
        assert opened.claim(FetchRequest(("a",), 5))[0] == [7]

    assert left() == []


@pytest.mark.usefixtures("store")
def test_live_claims_do_not_wait_for_it() -> None:
    stored(2, queue="a")
    queries.make_queues(["a"])
    with threads(1) as start, scratch() as opened:
        opened.set_clock(BEGINNING)
        opened.configure({"a": {"concurrency": 5}})
        opened.enqueue([ScratchJob(n, LaneKey("a", 0, "t")) for n in range(3)])
        with transaction.atomic():  # its locks are held until the end of this block
            assert opened.claim(FetchRequest(("a", "b"), 2))[0] == [0, 1]
            opened.enqueue([ScratchJob(9, LaneKey("a", 0, "t"))])
            assert len(start(lambda: fetch(FetchRequest(("a", "b"), 2))).result().jobs) == 2
            assert start(lambda: len(stored(1, queue="a"))).result() == 1


@pytest.mark.usefixtures("store")
def test_nobody_is_woken() -> None:
    with connection.cursor() as cursor:
        cursor.execute("LISTEN ojs_ready")
    with scratch() as opened:
        opened.set_clock(BEGINNING)
        opened.enqueue([ScratchJob(1, LaneKey("a", 0, "t"))])
    assert connection.connection is not None
    heard = list(connection.connection.notifies(timeout=0))
    with connection.cursor() as cursor:
        cursor.execute("UNLISTEN ojs_ready")

    assert heard == []
