"""Sharing policies under many fetchers and producers. Spec: contract 20.4, FS-9."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Charge, Job, Lease, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.outcome.ack import Ack, ack
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from scheduling.services.durations import charge_durations
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads, wait_until_complete
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def put(**fairness: object) -> None:
    """Define the sharing policy of the queue."""
    pools.put(parse_pool("p", {"queues": ["q"], "tenant_fairness": fairness}))


def store(tenants: Sequence[int]) -> list[str]:
    """Store a job of each tenant, in this order."""
    drafts = [replace(DraftFactory.create(queue="q"), tenant=f"t{n}") for n in tenants]
    return [job.id for job in enqueue(drafts) if job is not None]


@spec("FS-9.1-a")
def test_what_each_of_8_fetchers_gets_is_in_order() -> None:
    put(enabled=False)
    ids = store([n * n % 11 for n in range(240)])
    place = {job_id: n for n, job_id in enumerate(ids)}
    turn = count()

    def work(size: int) -> list[int]:
        got: list[int] = []
        while next(turn) < 400:
            found = fetch(FetchRequest((), size, pool="p")).jobs
            got += [place[job.id] for job in found]
            if not found:
                break
        return got

    got = at_once([partial(work, 1 + n % 4) for n in range(8)])

    assert all(one == sorted(one) for one in got)
    assert sorted(n for one in got for n in one) == list(range(240))
    assert_store_is_sound()


@spec("FS-9.1-a")
def test_limits_of_tenants_hold_under_8_fetchers() -> None:
    put(enabled=False)
    store([n % 3 for n in range(120)])
    for n in range(2):
        lanes.set_weight_and_cap(f"t{n}", weight=1, cap=2)

    def work() -> list[str]:
        done: list[str] = []
        for _ in range(30_000):  # far more than needed
            found = fetch(FetchRequest((), 3, pool="p")).jobs
            for n in range(2):
                assert Lease.objects.filter(tenant=f"t{n}").count() <= 2
            ack([Ack(job.id) for job in found])
            done += [job.id for job in found]
            if not Job.objects.filter(state=None).exists():
                break
        return done

    done = [job_id for ids in at_once([work] * 8) for job_id in ids]

    assert len(done) == len(set(done)) == 120
    assert_store_is_sound()


@spec("FS-9.1-a")
def test_switching_to_and_fro_loses_nothing_and_what_is_left_is_in_order() -> None:
    put(enabled=True)

    def switch() -> list[str]:
        for n in range(12):
            put(enabled=n % 2 == 0, default_weight=1 + n)
        return []

    def produce(start: int) -> list[str]:
        return [job for n in range(20) for job in store([start, (start + n) % 7])]

    def work() -> list[str]:
        return [j.id for _ in range(20) for j in fetch(FetchRequest((), 2, pool="p")).jobs]

    with threads(6) as start:
        stored = [start(partial(produce, n)) for n in range(2)]
        got = [start(work) for _ in range(3)]
        start(switch).result()
        given = {job_id for future in stored for job_id in future.result()}
        taken = [job_id for future in got for job_id in future.result()]

    put(enabled=False)
    left = [str(one) for one in Ready.objects.order_by("seq").values_list("id", flat=True)]
    rest: list[str] = []
    while found := fetch(FetchRequest((), 3, pool="p")).jobs:
        rest += [job.id for job in found]

    assert rest == left
    assert sorted(taken + rest) == sorted(given)
    assert_store_is_sound()


def test_durations_are_charged_once_each_while_jobs_come_and_go() -> None:
    put(cost="duration")
    charge_durations()
    store([n % 5 for n in range(200)])
    lanes.set_weight_and_cap("t1", weight=2, cap=3)

    def work() -> int:
        number = 0
        for _ in range(30_000):  # far more than needed
            found = fetch(FetchRequest((), 3, pool="p")).jobs
            ack([Ack(job.id) for job in found])
            number += len(found)
            if not Job.objects.filter(state=None).exists():
                break
        return number

    def charge() -> int:
        return sum(charge_durations() for _ in range(20))

    at_once([*[work] * 4, *[charge] * 2])
    wait_until_complete()
    charge_durations()

    assert not Job.objects.filter(state=None).exists()
    assert Charge.objects.get().jobs == 200
    assert_store_is_sound()
