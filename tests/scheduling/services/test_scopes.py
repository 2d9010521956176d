"""Tenants that share over several queues: `tenant_fairness.scope`. Spec: contract 20.4, FS-9.

Each queue has its own virtual times. The claim adds the tenant's jobs in other queues. ADR 0018.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Lane, Served
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.lanes import lanes
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from scheduling.domain.pool_request import parse_pool, parse_tenants
from scheduling.services import configuration, pools
from tests.asserts import assert_store_is_sound
from tests.scheduling.pools import of_tenant
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

BOTH = FetchRequest((), pool="p")
A, B = FetchRequest(("a",)), FetchRequest(("b",))


def put(*queues: str, name: str = "p", scope: str = "pool", **body: object) -> None:
    """Define a pool whose tenants share over all of its queues."""
    fairness = {"scope": scope, **{k: body.pop(k) for k in ("weights",) if k in body}}
    pools.put(parse_pool(name, {"queues": list(queues), "tenant_fairness": fairness, **body}))


def fill(**numbers: Mapping[str, int]) -> None:
    """Store jobs: by queue, a number for each tenant."""
    for queue, tenants in numbers.items():
        for tenant, number in tenants.items():
            of_tenant(tenant, number, queue)


def take(number: int, *requests: FetchRequest, size: int = 1, sees: bool = True) -> list[str]:
    """Fetch this number of jobs by the requests in turn; return their tenants in order.

    If `sees`, each claim starts without the low-water marks of earlier claims.
    """
    found: list[str] = []
    while len(found) < number:
        before = len(found)
        for one in requests or (BOTH,):
            if sees:
                low_water_marks.clear()
            request = FetchRequest(one.queues, min(size, number - len(found)), pool=one.pool)
            found += [job.tenant for job in fetch(request).jobs] if request.count else []
        assert len(found) > before, "nothing came although jobs wait"
    return found


def widest_gap(order: list[str], weights: Mapping[str, float]) -> float:
    """Return the largest difference between two tenants, in jobs divided by weight."""
    got = dict.fromkeys(weights, 0.0)
    worst = 0.0
    for tenant in order:
        got[tenant] += 1 / weights[tenant]
        worst = max(worst, max(got.values()) - min(got.values()))
    return worst


@pytest.mark.parametrize("sees", [True, False])
@pytest.mark.parametrize("scope", ["pool", "global"])
@spec("FS-9.2-a")
def test_who_is_in_two_queues_gets_no_more_than_who_is_in_one(scope: str, sees: bool) -> None:
    put("a", "b", scope=scope)
    fill(a={"one": 60, "two": 60}, b={"two": 60})

    found = Counter(take(60, sees=sees))

    assert abs(found["one"] - found["two"]) <= 2


@spec("FS-9.2-a")
def test_each_queue_by_itself_is_the_default() -> None:
    put("a", "b", scope="queue")
    fill(a={"one": 60, "two": 60}, b={"two": 60})

    assert Counter(take(60)) == {"one": 15, "two": 45}
    assert not Served.objects.exists()


@pytest.mark.parametrize("size", [1, 4])
@spec("FS-9.2-a")
def test_weights_hold_over_all_queues(size: int) -> None:
    weights = {"x": 3, "y": 2, "z": 1}
    put("a", "b", "c", weights=weights)
    fill(a={"x": 90, "y": 90, "z": 90}, b={"y": 90, "z": 90, "x": 90}, c=dict.fromkeys("xyz", 90))

    order = take(120, size=size)

    assert Counter(order) == {"x": 60, "y": 40, "z": 20} or size > 1
    # contract 20.4: 1/w of both; a batch is decided queue by queue
    assert widest_gap(order, weights) <= 2 * size


@spec("FS-9.2-a")
def test_workers_outside_of_the_pool_count_too() -> None:
    put("a", "b")
    fill(a={"one": 60, "two": 60}, b={"two": 60})

    found = Counter(take(60, A, B))

    assert abs(found["one"] - found["two"]) <= 2


@spec("FS-9.2-a")
def test_a_tenants_own_workers_count_too() -> None:
    put("a", "b")
    fill(a={"one": 60, "two": 60}, b={"two": 60})
    own = FetchRequest(("b",), 30, tenant="two")
    assert len(fetch(own).jobs) == 30

    assert Counter(take(30, A)) == {"one": 30}
    found = Counter(take(20, A))
    assert abs(found["one"] - found["two"]) <= 2


@spec("FS-9.2-b")
def test_a_lane_alone_in_its_queue_is_charged_when_another_comes() -> None:
    put("a", "b")
    fill(a={"one": 100, "two": 100}, b={"two": 100})
    assert Counter(take(20, B)) == {"two": 20}

    assert Counter(take(20, A)) == {"one": 20}
    fill(b={"one": 50})
    found = Counter(take(40, A, B))
    assert abs(found["one"] - found["two"]) <= 3


# --- tenants that join and rejoin -----------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 5])
@spec("FS-9.2-b")
def test_who_comes_back_begins_as_the_equal_of_those_who_wait(size: int) -> None:
    put("a", "b")
    fill(a={"old": 20, "one": 200, "two": 200}, b={"old": 20, "one": 200, "two": 200})
    take(60, size=size)
    take(120, size=size)  # now the tenant `old` has no jobs left
    assert not Lane.objects.filter(tenant="old", active=True).exists()

    fill(a={"old": 50}, b={"old": 50, "new": 50})
    found = Counter(take(40, size=size))

    assert max(found.values()) - min(found.values()) <= 3 * size


@spec("FS-9.2-b")
def test_who_comes_to_many_queues_at_once_gets_one_share() -> None:
    names = [f"q{n}" for n in range(10)]
    put(*names)
    fill(**{name: {"one": 30, "two": 30, "three": 30} for name in names})
    take(60)
    fill(**{name: {"late": 10} for name in names})

    found = Counter(take(40))

    assert max(found.values()) - min(found.values()) <= 3


@spec("FS-9.2-b")
def test_what_nobody_else_could_have_is_not_held_against_a_tenant_for_long() -> None:
    put("a", "b")
    fill(a={"one": 3000, "two": 3000}, b={"rich": 4000})
    take(4000, B, size=1000)
    take(10, A)
    fill(a={"rich": 400})  # it joins as an equal

    found = Counter(take(60, A))
    assert max(found.values()) - min(found.values()) <= 3


@spec("FS-9.2-b")
def test_what_is_charged_at_once_ends_at_a_thousand_jobs() -> None:
    put("a", "b")
    fill(a={"one": 3000, "rich": 400}, b={"rich": 4000})
    take(2, A)
    take(4000, B, size=1000)

    order = take(1300, A, size=10)

    assert 980 <= order.index("rich") <= 1020
    after = Counter(order[1100:])
    assert abs(after["one"] - after["rich"]) <= 12


@spec("FS-9.2-b")
def test_who_has_one_job_at_a_time_gets_no_more_than_its_share() -> None:
    put("a", "b")
    fill(a={"many": 80}, b={"many": 80})
    fill(a={"few": 1})
    found: Counter[str] = Counter()
    for n in range(60):
        (got,) = take(1)
        found[got] += 1
        if got == "few":
            fill(**{"ab"[n % 2]: {"few": 1}})

    assert abs(found["few"] - found["many"]) <= 3


# --- unchanged behaviour --------------------------------------------------------------------------


@spec("FS-9.3-a")
def test_only_inside_one_priority() -> None:
    put("a", "b")
    fill(b={"one": 20})
    take(10, B)
    of_tenant("one", 3, "a", 10)
    of_tenant("two", 3, "a", 0)

    assert take(6, A) == ["one"] * 3 + ["two"] * 3


@pytest.mark.parametrize("size", [1, 7, 100])
def test_no_job_is_left_while_somebody_asks(size: int) -> None:
    put("a", "b", "c", strategy="weighted", weights={"a": 3})
    fill(a={"x": 7, "y": 1}, b={"y": 20, "z": 3}, c={"x": 11})
    lanes.set_weight_and_cap("x", weight=1, cap=5)
    lanes.set_weight_and_cap("z", weight=2, cap=1)
    got: list[str] = []
    rounds = 0

    while got.count("x") + got.count("y") + got.count("z") < 42:
        rounds += 1
        assert rounds < 100
        low_water_marks.clear()
        jobs = fetch(FetchRequest((), size, pool="p")).jobs
        assert Counter(job.tenant for job in jobs)["x"] <= 5
        got += [job.tenant for job in jobs]
        ack([Ack(job.id) for job in jobs])

    assert Counter(got) == {"x": 18, "y": 21, "z": 3}
    assert_store_is_sound()


def test_paused_queues_and_full_tenants_hold_nobody_else_up() -> None:
    put("a", "b")
    fill(a={"one": 20, "two": 20}, b={"one": 20, "two": 20})
    lanes.set_weight_and_cap("one", weight=1, cap=4)
    pause("b")

    assert Counter(take(12)) == {"one": 4, "two": 8}


def test_the_pool_whose_queues_count_together_may_change_while_jobs_wait() -> None:
    put("a", "b", scope="queue")
    fill(a={"one": 200, "two": 200}, b={"two": 200})
    take(20)

    put("a", "b")
    found = Counter(take(60))
    assert abs(found["one"] - found["two"]) <= 3
    assert set(Lane.objects.values_list("scope", flat=True)) == {"p"}

    put("a", "b", scope="global")
    found = Counter(take(60))
    assert abs(found["one"] - found["two"]) <= 3
    assert set(Served.objects.values_list("scope", flat=True)) == {"*"}

    put("a", scope="pool")
    assert Counter(take(20, FetchRequest((), pool="p"))) == {"one": 10, "two": 10}
    pools.delete("p")
    assert set(Lane.objects.values_list("scope", "paid")) == {(None, 0)}
    assert not Served.objects.exists()
    assert Counter(take(20, A)) == {"one": 10, "two": 10}


def test_the_configuration_counts_queues_by_their_pools() -> None:
    fairness = parse_tenants({"scope": "pool"})
    pools.put(parse_pool("r", {"queues": ["c", "b"]}))
    pools.put(parse_pool("p", {"queues": ["a", "b"]}))
    configuration.configure(configuration.Wanted(tenants=fairness))
    fill(a={"x": 1}, b={"x": 1}, c={"x": 1}, d={"x": 1})

    # a queue of several pools counts for the first pool by name; `d`, in no pool, is separate
    assert dict(Lane.objects.values_list("queue", "scope")) == {
        "a": "p", "b": "p", "c": "r", "d": None,
    }  # fmt: skip


def test_what_tenants_got_only_grows_and_has_one_row_for_each() -> None:
    put("a", "b")
    fill(a={"one": 20, "two": 20}, b={"two": 20})
    seen = []
    for _ in range(10):
        take(2)
        seen.append({row.tenant: row.cost for row in Served.objects.all()})

    assert all(sum(one.values()) + 2 == sum(two.values()) for one, two in pairwise(seen))
    assert Served.objects.count() == 2
