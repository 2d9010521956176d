"""Order of FETCH by priority, also with many jobs. Spec: contract 10.1."""

from collections import defaultdict
from typing import Any

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Ready
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.nack import Nack, nack
from tests.concurrency import at_once
from tests.factories import DraftFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

PRIORITIES = list(range(-100, 101))


def drained(queues: tuple[str, ...] = ("default",), count: int = 100) -> list[tuple[int, str]]:
    """Fetch all jobs and return (priority, id) in the order of the claims."""
    found: list[tuple[int, str]] = []
    while jobs := fetch(FetchRequest(queues, count=count)).jobs:
        found += [(job.priority, job.id) for job in jobs]
    return found


@pytest.mark.parametrize("count", [1, 7, 100])
@spec("contract 10.1")
def test_priority_descending_then_order_of_arrival(count: int) -> None:
    number = 300 if count == 1 else 3000
    drafts = [DraftFactory.create(priority=PRIORITIES[n * 37 % 201]) for n in range(number)]
    enqueue(drafts)

    found = drained(count=count)

    wanted = sorted(((draft.priority, draft.id) for draft in drafts), key=lambda p: (-p[0], p[1]))
    assert found == wanted


@spec("contract 10.1")
def test_a_new_job_of_higher_priority_goes_before_those_that_wait() -> None:
    waiting = stored_ids(50)
    first = fetch(FetchRequest(("default",), count=10)).jobs
    (urgent,) = stored_ids(1, priority=1)

    assert [job.id for job in first] == waiting[:10]
    assert [job_id for _, job_id in drained()] == [urgent, *waiting[10:]]


def test_d44_strict_queues_come_in_the_order_of_the_request_before_priority(settings: Any) -> None:
    settings.OJS_SCHEDULING = {"DEFAULT_STRATEGY": "strict"}
    low = stored_ids(3, queue="first", priority=-100)
    high = stored_ids(3, queue="second", priority=100)

    assert [job_id for _, job_id in drained(("first", "second"), 4)] == [*low, *high]


@spec("contract 10.1")
def test_a_job_that_is_given_back_comes_before_its_equals() -> None:
    first, second, third = stored_ids(3)
    fetch(FetchRequest(("default",)))
    nack([Nack(first, None, requeue=True)])

    assert [job_id for _, job_id in drained()] == [first, second, third]


@spec("contract 10.1")
def test_an_expired_job_does_not_block_those_behind_it() -> None:
    late = stored_ids(30, priority=5, expires_at="+PT1H")
    (next_one,) = stored_ids(1)
    Ready.objects.filter(id__in=late).update(expires_at=ago(1))

    assert [job_id for _, job_id in drained(count=1)] == [next_one]


@spec("contract 10.1")
def test_each_of_several_workers_sees_priorities_fall() -> None:
    for priority in (-10, 0, 10):
        stored_ids(200, priority=priority)

    shares = at_once([lambda: drained(count=10)] * 4)

    ids = [job_id for share in shares for _, job_id in share]
    assert len(ids) == len(set(ids)) == 600
    by_priority: dict[int, int] = defaultdict(int)
    for share in shares:
        priorities = [priority for priority, _ in share]
        assert priorities == sorted(priorities, reverse=True)
        for priority in priorities:
            by_priority[priority] += 1
    assert by_priority == {-10: 200, 0: 200, 10: 200}
