"""Jobs without a version that workers refuse, under concurrency: real threads and commits."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from tests.concurrency import at_once, threads
from tests.factories import DraftFactory
from tests.spec import spec
from tests.versioning.routing import join, redrawn
from versioning.domain.declaration import declared
from versioning.models import Apart, Route

pytestmark = pytest.mark.usefixtures("store")

TYPE, OTHER = "races.bare", "races.other"


@pytest.fixture(autouse=True)
def together(store: None) -> Iterator[None]:
    join()
    yield
    join()


def request(*, accepts: bool = False, count: int = 5) -> FetchRequest:
    entry = {"type": TYPE, "versions": "*", "accept_unversioned": accepts}
    return FetchRequest(("bare",), count=count, declaration=declared([entry], is_exclusive=False))


def produce(number: int, job_type: str = TYPE) -> list[str]:
    ids = []
    for _ in range(number):
        (job,) = enqueue([DraftFactory.create(type=job_type, queue="bare")])
        assert job is not None
        ids.append(job.id)
    return ids


def take(wanted: FetchRequest, rounds: int = 40) -> list[tuple[str, str]]:
    return [(job.id, job.type) for _ in range(rounds) for job in fetch(wanted).jobs]


def moved() -> None:
    """Move waiting jobs, also jobs that other transactions held a moment ago."""
    while Apart.objects.filter(is_done=False).update(starts_at=Now()):
        redrawn()


@spec("D-VER-6")
def test_none_crosses_while_types_are_told_apart_under_load() -> None:
    before = produce(30) + produce(10, OTHER)

    def redraw() -> list[tuple[str, str]]:
        for _ in range(10):
            Apart.objects.update(starts_at=Now())
            redrawn()
        return []

    works: list[Callable[[], Any]] = [
        partial(produce, 40), partial(produce, 40), partial(produce, 20, OTHER),
        partial(take, request()), partial(take, request()), partial(take, request(accepts=True), 4),
        redraw,
    ]  # fmt: skip
    done = at_once(works)

    moved()
    refusing = [*done[3], *done[4], *take(request())]
    assert TYPE not in {job_type for _, job_type in refusing}
    taken = Counter(job_id for job_id, _ in [*refusing, *done[5], *take(request(accepts=True))])
    assert set(taken.values()) == {1}
    assert taken.keys() == {*before, *done[0], *done[1], *done[2]}


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
@spec("D-VER-6")
def test_a_host_transaction_that_stays_open_is_waited_for(isolation: str) -> None:
    stored, may_end = Event(), Event()

    def host() -> list[str]:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
            ids = produce(1)
            stored.set()
            assert may_end.wait(60)
        return ids

    with threads(1) as start:
        late = start(host)
        try:
            assert stored.wait(60)
            assert fetch(request()).jobs == []
            for _ in range(3):
                Apart.objects.update(starts_at=Now())
                redrawn()
            assert not Apart.objects.get(type=TYPE).is_done  # its jobs are not visible yet
        finally:
            may_end.set()
        ids = late.result()

    moved()
    assert take(request(), 2) == []
    assert [job.id for job in fetch(request(accepts=True)).jobs] == ids


@spec("D-VER-6")
def test_workers_that_meet_a_type_at_once_tell_it_apart_once() -> None:
    at_once([partial(fetch, request())] * 8)

    assert Apart.objects.count() == Route.objects.filter(major=None).count() == 1
