"""Shares over several queues under many fetchers and producers. Spec: contract 20.4, FS-9."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from bench.fairness.shares import shares_of, worst_jain, worst_share
from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Debt, Lane, Ready, Served
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import lanes
from jobs.services.outcome.ack import Ack, ack
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.scheduling.pools import of_tenant
from tests.scheduling.races.test_fairness import FETCHERS, MOST, fetched, named, pooled
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

QUEUES = ("a", "b", "c", "d")
turn = count()
Wish = Callable[[int], FetchRequest]


def put(name: str = "p", **more: object) -> None:
    """Let tenants share over all queues of a pool."""
    body = {"queues": list(QUEUES), "tenant_fairness": {"scope": "pool"}}
    pools.put(parse_pool(name, body | more))


def one_queue(wanted: int) -> FetchRequest:
    """Return a FETCH of a worker in the pool from one queue, a different queue each time."""
    return FetchRequest((QUEUES[next(turn) % len(QUEUES)],), wanted, pool="p")


@pytest.mark.parametrize("wish", [pooled, one_queue])
@pytest.mark.parametrize("most", [1, MOST])
@spec("FS-9.2-b")
def test_equal_tenants_of_several_queues_have_a_jain_index_near_one(wish: Wish, most: int) -> None:
    put()
    names = [f"t{n}" for n in range(8)]
    turns, window = (240, 80) if most == 1 else (600, 200)
    for n, name in enumerate(names):
        for queue in QUEUES if n % 2 else (QUEUES[n % 4], QUEUES[n // 2 % 4]):
            of_tenant(name, turns // 3, queue)  # half of the tenants use only one or two queues

    claims = fetched(wish, turns, most=most)

    order = named(claims, "tenant")
    assert worst_jain(order[len(names) * most // 2 :], names, window) >= 0.95
    assert not Debt.objects.exists()


@spec("FS-9.2-a")
def test_weighted_tenants_of_several_queues_are_near_their_shares_with_16() -> None:
    weights = {"x": 5, "y": 3, "z": 1, "v": 1}
    put(
        tenant_fairness={"scope": "pool", "weights": weights}, strategy="weighted", weights={"a": 2}
    )
    for n, name in enumerate(weights):
        for queue in QUEUES[n % 2 :]:  # two tenants have no jobs in the first queue
            of_tenant(name, 300, queue)

    order = named(fetched(pooled, 600), "tenant")

    # a batch is decided queue by queue, so each end of a window may deviate by a batch
    assert 200 * worst_share(order, shares_of(weights), 200) <= 2 * MOST
    whole = Counter(order[:500])
    assert all(abs(whole[name] / 500 - part) <= 0.04 for name, part in shares_of(weights).items())


def test_nothing_is_lost_or_counted_twice_while_tenants_come_and_go() -> None:
    put()
    lanes.set_weight_and_cap("t1", weight=2, cap=3)
    total = 4 * 24 * 3

    def produce(number: int) -> list[str]:
        for n in range(24):
            for k in range(3):
                of_tenant(f"t{(number + n + k) % 5}", 1, QUEUES[(number * n + k) % len(QUEUES)])
        return []

    def work(number: int) -> list[str]:
        got: list[str] = []
        idle = 0
        while idle < 2_000:  # far longer than the pauses of producers
            wish = pooled(3) if number % 2 else one_queue(1 + number % 4)
            found = fetch(wish).jobs
            ack([Ack(job.id) for job in found])
            got += [job.id for job in found]
            idle = 0 if found else idle + 1
            if not found and sum_of_jobs() == total:
                break
        return got

    done = at_once(
        [*[partial(produce, n) for n in range(4)], *[partial(work, n) for n in range(8)]]
    )

    ids = [job_id for one in done for job_id in one]
    assert len(ids) == len(set(ids)) == total
    assert not Ready.objects.exists()
    assert sum_of_jobs() == total
    assert_store_is_sound()


def done(wish: FetchRequest) -> list[str]:
    """Fetch jobs and acknowledge them."""
    found = fetch(wish).jobs
    ack([Ack(job.id) for job in found])
    return [job.id for job in found]


def sum_of_jobs() -> float:
    """Return how many jobs tenants have got, by their charges."""
    found = {row.tenant: row.cost for row in Served.objects.all()}
    # read after the charges: no tenant is missing
    weights = dict(Lane.objects.values_list("tenant", "weight"))
    return round(sum(cost * weights[tenant] for tenant, cost in found.items()), 6)


def test_switching_the_scope_to_and_fro_under_fetchers_loses_nothing() -> None:
    put()
    for n in range(5):
        for queue in QUEUES:
            of_tenant(f"t{n}", 15, queue)
    lanes.set_weight_and_cap("t0", weight=1, cap=2)  # claims wait for its lanes
    lanes.set_weight_and_cap("t1", weight=1, cap=2)

    def switch() -> list[str]:
        for n in range(12):
            scope = ("queue", "global", "pool")[n % 3]
            put(tenant_fairness={"scope": scope, "default_weight": 1 + n})
        return []

    def work(number: int) -> list[str]:
        wish = pooled if number % 2 else one_queue
        return [job_id for n in range(15) for job_id in done(wish(1 + n % 4))]

    works: list[Callable[[], list[str]]] = [partial(work, n) for n in range(FETCHERS // 2)]
    ids = [job_id for one in at_once([switch, *works]) for job_id in one]

    while found := done(pooled(MOST)):
        ids += found
    assert len(ids) == len(set(ids)) == 5 * 15 * len(QUEUES)
    assert_store_is_sound()
