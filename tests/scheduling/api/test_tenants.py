"""Sharing policies of a queue. Spec: contract 20.4 (tenant fairness), FS-9, MT-7."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from jobs import queries
from jobs.models import Lane, Ready
from jobs.services.dispatch.fetch import low_water_marks
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from scheduling.services.orders import reconcile
from tenancy.domain.tenant import Definition
from tenancy.models import Tenant
from tenancy.services.tenants import put as put_tenant
from tests.factories import DraftFactory
from tests.scheduling.pools import get, put, refused, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

IN_ORDER = {"enabled": False}


def of_tenant(*tenants: str, queue: str = "q", **more: Any) -> list[str]:
    """Store a job of each tenant, in this order; return their ids."""
    drafts = [
        replace(DraftFactory.create(queue=queue, meta={"tenant_id": tenant}, **more), tenant=tenant)
        for tenant in tenants
    ]
    return [job.id for job in enqueue(drafts) if job is not None]


def tenants(count: int, **body: Any) -> str:
    """Fetch and return the tenants of the jobs."""
    return "".join(job["meta"]["tenant_id"] for job in taken(count, **body))


def waiting() -> list[str]:
    """Return the waiting jobs, oldest first."""
    return [str(job_id) for job_id in Ready.objects.order_by("seq").values_list("id", flat=True)]


def ids(count: int, **body: Any) -> list[str]:
    return [job["id"] for job in taken(count, **body)]


# --- shares ---------------------------------------------------------------------------------------


@spec("MT-7.1-a")
def test_tenants_take_turns() -> None:
    of_tenant(*"AAAAABBBBBCCCCC")

    one_by_one = "".join(tenants(1, queues=["q"]) for _ in range(9))

    assert Counter(one_by_one[:3]) == Counter(one_by_one[3:6]) == Counter("ABC")
    assert one_by_one == one_by_one[:3] * 3
    assert Counter(tenants(6, queues=["q"])) == {"A": 2, "B": 2, "C": 2}


@spec("MT-7.2-a")
def test_weights_10_5_1() -> None:
    of_tenant(*"ABC" * 160)
    put("p", "q", tenant_fairness={"weights": {"A": 10, "B": 5, "C": 1}})

    found = Counter("".join(tenants(1, pool="p") for _ in range(160)))

    assert all(abs(found[t] - n) <= 1 for t, n in (("A", 100), ("B", 50), ("C", 10)))


# --- in order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@spec("FS-9.1-a")
def test_switched_off_the_oldest_job_is_next_whosever_it_is(size: int) -> None:
    order = "AAABABBCADAABBBCCDDDAB"
    of_tenant(*order)
    put("p", "q", tenant_fairness=IN_ORDER)

    found = "".join(tenants(size, pool="p") for _ in range(-(-len(order) // size)))

    assert found == order
    assert not Ready.objects.exists()


@spec("FS-9.1-a")
def test_switching_counts_at_once_for_jobs_that_wait_and_loses_none() -> None:
    of_tenant(*"A" * 30 + "B" * 30)
    assert Counter(tenants(20, queues=["q"])) == {"A": 10, "B": 10}
    left = waiting()

    put("p", "q", tenant_fairness=IN_ORDER)
    assert ids(10, pool="p") == left[:10]
    assert ids(1, pool="p") == left[10:11]
    of_tenant("C")

    put("p", "q", tenant_fairness={}, status=200)
    assert Counter(tenants(7, pool="p")) == {"A": 3, "B": 3, "C": 1}
    put("p", "q", tenant_fairness=IN_ORDER, status=200)
    left = waiting()
    assert [*ids(5, pool="p"), *ids(100, pool="p")] == left


@spec("FS-9.1-a")
def test_many_tenants_in_order() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)
    of_tenant(*[f"t{n}" for n in range(150)])
    of_tenant(*[f"t{n}" for n in reversed(range(150))])
    left = waiting()

    found = ids(1, pool="p") + ids(40, pool="p") + ids(7, pool="p")
    while got := ids(50, pool="p"):
        found += got

    assert found == left


@spec("FS-9.1-a")
def test_a_lane_whose_first_jobs_are_gone_does_not_go_before_its_turn() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)
    first = of_tenant(*"ABCDEFGHIJKLMNOPQRSTUVWXY")
    of_tenant(*"ZZZ")
    of_tenant(*"ABCDEFGHIJKLMNOPQRSTUVWXY")
    for job_id in first:
        assert send("DELETE", f"jobs/{job_id}").status_code == 200
    left = waiting()

    assert ids(1, pool="p") == left[:1]
    assert ids(20, pool="p") == left[1:21]
    assert ids(50, pool="p") == left[21:]


@spec("FS-9.1-a")
def test_an_order_inside_one_priority() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)
    of_tenant(*"AB")
    of_tenant(*"BA", priority=5)
    of_tenant(*"BA")

    assert tenants(6, pool="p") == "BAABBA"


@spec("FS-9.1-a")
def test_a_limited_tenant_is_passed_over_and_its_jobs_keep_their_place() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)
    jobs = of_tenant(*"AAAABBCACC")
    lanes.set_weight_and_cap("A", weight=1, cap=2)

    assert ids(5, pool="p") == [jobs[0], jobs[1], jobs[4], jobs[5], jobs[6]]
    for n in (0, 1):
        send("POST", "workers/ack", {"job_id": jobs[n]})
    assert ids(2, pool="p") == jobs[2:4]
    assert ids(9, pool="p") == jobs[8:]
    for n in (2, 3):
        send("POST", "workers/ack", {"job_id": jobs[n]})
    assert ids(9, pool="p") == [jobs[7]]


@spec("FS-9.1-a")
def test_bounds_of_shares_do_not_hide_jobs_after_the_switch() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)
    of_tenant(*"ABABAB")
    assert tenants(2, pool="p") == "AB"

    put("p", "q", tenant_fairness={"weights": {"B": 2}}, status=200)
    of_tenant(*"CCC")

    assert Counter(tenants(4, pool="p")) == {"A": 1, "B": 2, "C": 1}
    assert low_water_marks.of(None).bounds(["q"]).vts is None


@spec("fair-scheduling 9")
def test_lanes_made_later_follow_and_the_configuration_holds_elsewhere() -> None:
    body = {"tenant_fairness": {"enabled": False, "weights": {"A": 3}}}
    assert send("PUT", "admin/scheduling/config", body).status_code == 200
    assert get("admin/scheduling/config")["tenant_fairness"] == {
        "enabled": False, "strategy": "fair-share", "weights": {"A": 3}, "default_weight": 1,
        "scope": "queue", "cost": "dispatch",
    }  # fmt: skip
    put("p", "r", tenant_fairness={"enabled": True})
    of_tenant("A", queue="q")
    of_tenant("A", queue="r")

    assert dict(Lane.objects.values_list("queue", "ordered")) == {"q": True, "r": False}
    send("PUT", "admin/scheduling/config", {})
    assert not Lane.objects.filter(ordered=True).exists()


@override_settings(
    OJS_SCHEDULING={"POOLS": [{"name": "s", "queues": ["q"], "tenant_fairness": IN_ORDER}]}
)
@spec("fair-scheduling 9")
def test_a_pool_of_the_settings_counts_for_lanes_from_before() -> None:
    of_tenant(*"AABBA")
    Lane.objects.update(ordered=False, vt=7)
    of_tenant(*"CBA")
    assert Lane.objects.get(tenant="C").ordered

    assert reconcile() == 1
    assert reconcile() == 0

    assert tenants(8, pool="s") == "AABBACBA"


@spec("fair-scheduling 9")
def test_two_pools_of_a_queue_cannot_differ_in_it() -> None:
    put("p", "q", tenant_fairness=IN_ORDER)

    answer = send("PUT", "admin/pools/o", {"queues": ["q"], "tenant_fairness": {"enabled": True}})

    assert refused(answer, 409, "conflict")["queue"] == "q"


# --- over several queues --------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["pool", "global"])
@spec("FS-9.2-a")
def test_shares_may_be_over_several_queues(scope: str) -> None:
    put("p", "a", "b", tenant_fairness={"scope": scope, "weights": {"A": 2}})
    of_tenant(*"A" * 40 + "B" * 40, queue="a")
    of_tenant(*"B" * 40, queue="b")

    assert get("admin/pools/p")["tenant_fairness"]["scope"] == scope
    found = Counter("".join(tenants(3, pool="p") for _ in range(12)))
    # all jobs of the first queue: A has no jobs in the other queue
    assert abs(found["A"] - 18) <= 3


@pytest.mark.parametrize("scope", ["queues", "", 1, [], {}, True])
@spec("FS-9.2-a")
def test_no_other_scope_is_known(scope: object) -> None:
    body = {"tenant_fairness": {"scope": scope}}
    for path, more in (("pools/p", {"queues": ["q"]}), ("scheduling/config", {})):
        answer = send("PUT", f"admin/{path}", {**body, **more})

        found = refused(answer, 422)
        assert found["field"] == "tenant_fairness.scope"
        assert found["expected"] == "must be one of queue, pool, global"


@pytest.mark.parametrize("scope", ["pool", "global"])
@spec("contract 20.4")
def test_durations_are_refused_where_tenants_share_over_several_queues(scope: str) -> None:
    body = {"tenant_fairness": {"scope": scope, "cost": "duration"}}
    for path, more in (("pools/p", {"queues": ["q"]}), ("scheduling/config", {})):
        answer = send("PUT", f"admin/{path}", {**body, **more})

        found = refused(answer, 422, "unsupported")
        assert found["field"] == "tenant_fairness.cost"
        assert found["expected"] == f"must be dispatch with scope {scope}"


@spec("fair-scheduling 9")
def test_two_pools_cannot_both_count_a_queue_nor_differ_in_the_scope() -> None:
    put("p", "q", "r", tenant_fairness={"scope": "pool"})

    for scope, field in (("pool", "tenant_fairness.scope"), ("global", "tenant_fairness")):
        body = {"queues": ["r", "s"], "tenant_fairness": {"scope": scope}}
        found = refused(send("PUT", "admin/pools/o", body), 409, "conflict")
        assert (found["field"], found["pool"], found["queue"]) == (field, "p", "r")
    put("o", "r", "s")  # a pool without a sharing policy may include the queue, too
    put("g", "s", "t", tenant_fairness={"scope": "global"})
    put("h", "t", tenant_fairness={"scope": "global"})


@spec("fair-scheduling 9")
def test_in_order_a_scope_waits_until_tenants_share_again() -> None:
    put("p", "a", "b", tenant_fairness={"enabled": False, "scope": "pool"})
    of_tenant(*"AAB", queue="a")
    assert set(Lane.objects.values_list("ordered", "scope")) == {(True, None)}

    assert get("admin/pools/p")["tenant_fairness"]["scope"] == "pool"
    put("p", "a", "b", status=200, tenant_fairness={"scope": "pool"})
    assert set(Lane.objects.values_list("ordered", "scope")) == {(False, "p")}
    assert Counter(tenants(3, pool="p")) == {"A": 2, "B": 1}


@override_settings(
    OJS_SCHEDULING={
        "POOLS": [{"name": "s", "queues": ["a", "b"], "tenant_fairness": {"scope": "pool"}}]
    }
)
@spec("FS-9.2-a")
def test_a_scope_of_the_settings_counts_for_lanes_from_before() -> None:
    of_tenant(*"A" * 30 + "B" * 30, queue="a")
    of_tenant(*"B" * 30, queue="b")
    Lane.objects.update(scope=None)

    assert reconcile() == 2
    assert reconcile() == 0

    found = Counter("".join(tenants(1, pool="s") for _ in range(30)))
    assert abs(found["A"] - found["B"]) <= 2


@override_settings(
    OJS_SCHEDULING={
        "POOLS": [{"name": "s", "queues": ["a"], "tenant_fairness": {"weights": {"A": 3}}}]
    }
)
@spec("FS-9.2-a")
def test_weights_of_the_settings_count_for_lanes_from_before() -> None:
    of_tenant(*"AB", queue="a")
    of_tenant(*"AB", queue="b")
    Lane.objects.update(weight=2)  # left by pools of earlier settings

    assert reconcile() == 2
    assert reconcile() == 0

    assert dict(Lane.objects.values_list("tenant", "weight").filter(queue="a")) == {"A": 3, "B": 1}
    assert set(Lane.objects.values_list("weight", flat=True).filter(queue="b")) == {1}
    Lane.objects.filter(tenant="A").update(weight=1)  # as a process with older settings writes it
    assert reconcile() == 1
    assert dict(Lane.objects.values_list("tenant", "weight").filter(queue="a")) == {"A": 3, "B": 1}


@spec("FS-9.2-a")
def test_a_pool_shares_by_weights_that_another_process_gave_tenants() -> None:
    put_tenant("A", Definition(weight=2))
    of_tenant(*"AB")
    assert dict(Lane.objects.values_list("tenant", "weight")) == {"A": 2, "B": 1}
    Tenant.objects.filter(id="A").update(fairness_weight=5)  # this process remembers 2
    Lane.objects.filter(tenant="A").update(weight=5)
    queries.raise_config_version()

    put("p", "q", tenant_fairness={"weights": {"B": 3}})

    assert dict(Lane.objects.values_list("tenant", "weight")) == {"A": 5, "B": 3}
    assert reconcile() == 0
