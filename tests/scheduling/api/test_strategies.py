"""Rotation of queues, and shares of tenants. Spec: contract 20.4; fair-scheduling 7 to 9."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs.models import Lane, Ready, Turn
from jobs.queries import ago
from jobs.services.lanes import rotations
from jobs.services.operate.queues import pause, resume
from tests.scheduling.pools import (
    PREVENTED,
    counts,
    fill,
    get,
    of_tenant,
    one_by_one,
    put,
    queue_order,
    refused,
    send,
    taken,
)
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

AS_ONE: Callable[..., str] = queue_order
Fetching = Callable[..., str]
both_sizes = pytest.mark.parametrize(
    "fetching", [queue_order, one_by_one], ids=["batch", "one by one"]
)


@both_sizes
@spec("FS-7.1-a")
def test_round_robin_takes_one_job_of_each_queue_per_cycle(fetching: Fetching) -> None:
    fill(a=3, b=3, c=1)

    assert fetching(7, queues=["a", "b", "c"]) == "abcabab"


@spec("FS-7.1-a")
def test_the_cycle_goes_on_where_the_last_fetch_of_any_worker_ended() -> None:
    fill(a=9, b=9, c=9)
    put("p", "a", "b", "c")

    assert [queue_order(n, pool="p") for n in (2, 2, 1, 4)] == ["ab", "ca", "b", "cabc"]


@spec("FS-7.1-b")
def test_round_robin_is_the_default() -> None:
    fill(a=2, b=2)
    put("p", "a", "b")

    assert queue_order(4, pool="p") == "abab"


@spec("FS-5.2-a")
def test_a_queue_never_served_comes_first() -> None:
    fill(a=5)
    assert queue_order(3, queues=["a", "b"]) == "aaa"
    fill(b=3)

    assert queue_order(3, queues=["a", "b"]) == "bab"


@both_sizes
@spec("FS-7.2-b")
def test_least_loaded_takes_from_the_deepest_queue(fetching: Fetching) -> None:
    fill(a=10, b=3)
    put("p", "a", "b", strategy="least-loaded")

    assert fetching(13, pool="p") == "aaaaaaaabab" + "ab"


@spec("FS-7.2-a")
def test_least_loaded_gives_a_worker_no_more_than_it_can_run() -> None:
    fill(a=9)
    put("p", "a", strategy="least-loaded")
    send("POST", "workers/heartbeat", {"worker_id": "w1", "pool": "p", "concurrency": 2})

    first = taken(5, worker_id="w1")

    assert len(first) == 2
    assert taken(5, worker_id="w1") == []
    assert len(taken(5, pool="p")) == 5
    send("POST", "workers/ack", {"job_id": first[0]["id"], "worker_id": "w1"})
    assert len(taken(5, worker_id="w1")) == 1


@both_sizes
@spec("FS-7.3-a")
def test_weighted_shares_are_proportional_at_any_moment(fetching: Fetching) -> None:
    fill(a=40, b=40, c=40)
    put("p", strategy="weighted", queues={"a": 3, "b": 2, "c": 1})

    order = fetching(60, pool="p")

    assert counts(order) == {"a": 30, "b": 20, "c": 10}
    for n in range(0, 60, 6):
        assert counts(order[n : n + 6]) == {"a": 3, "b": 2, "c": 1}


@spec("FS-7.3-b")
def test_a_queue_of_any_weight_is_served_within_a_bound() -> None:
    fill(a=1002, b=1)
    put("p", strategy="weighted", queues={"a": 1000, "b": 1})

    order = "".join(queue_order(100, pool="p") for _ in range(11))

    assert order.index("b") <= 1002


@spec("FS-7.3-a")
def test_queue_that_was_empty_does_not_catch_up() -> None:
    fill(a=60)
    put("p", "a", "b", strategy="weighted")
    queue_order(20, pool="p")
    fill(b=60)

    assert counts(queue_order(20, pool="p")) == {"a": 10, "b": 10}


@spec("FS-7.3")
def test_nor_one_that_comes_when_all_were_empty() -> None:
    fill(a=20)
    put("p", "a", "b", "c", strategy="weighted")
    queue_order(20, pool="p")
    assert queue_order(1, pool="p") == ""
    fill(b=20, c=20)
    queue_order(10, pool="p")
    fill(a=20)

    assert counts(queue_order(12, pool="p")) == {"a": 4, "b": 4, "c": 4}


@spec("FS-5.2-b")
def test_a_worker_without_a_pool_may_say_how() -> None:
    fill(a=20, b=20)

    both = ["a", "b"]
    assert queue_order(4, queues=both, strategy="strict") == "aaaa"
    weighted = queue_order(8, queues=both, strategy="weighted", weights={"a": 3, "b": 1})
    assert counts(weighted) == {"a": 6, "b": 2}
    assert counts(queue_order(8, queues=both, weights={"b": 3})) == {"a": 2, "b": 6}
    details = refused(send("POST", "workers/fetch", {"queues": both, "weights": {"c": 3}}), 422)
    assert details["field"] == "weights"


@spec("D-FS-4")
def test_the_default_strategy_is_configured() -> None:
    fill(a=4, b=4)
    assert get("admin/scheduling/config")["default_strategy"] == "round-robin"

    answer = send("PUT", "admin/scheduling/config", {"default_strategy": "strict"})

    assert answer.status_code == 200
    assert get("admin/scheduling/config")["default_strategy"] == "strict"
    assert queue_order(5, queues=["a", "b"]) == "aaaab"
    send("PUT", "admin/scheduling/config", {})
    assert queue_order(2, queues=["b", "a"]) == "bb"


def test_the_configuration_is_checked() -> None:
    for body, field, code in (
        ({"default_strategy": "x"}, "default_strategy", "invalid_request"),
        ({"priority_scope": "pool"}, "priority_scope", "invalid_request"),
        ({"priority_scope": 1}, "priority_scope", "invalid_request"),
        ({"tenant_fairness": {"default_weight": 0}}, "tenant_fairness.default_weight",
         "invalid_request"),
    ):  # fmt: skip
        assert refused(send("PUT", "admin/scheduling/config", body), 422, code)["field"] == field


def test_a_paused_queue_is_passed_over_without_losing_its_turn() -> None:
    fill(a=9, b=9)
    put("p", "a", "b")
    pause("a")
    assert queue_order(3, pool="p") == "bbb"

    resume("a")
    assert queue_order(4, pool="p") == "abab"


def test_strict_and_single_queues_leave_no_trace_of_turns() -> None:
    fill(a=4, b=4)
    put("s", "a", "b", strategy="strict")
    put("p", "a", "b")

    queue_order(1, pool="s")
    queue_order(1, queues=["a"])
    queue_order(1, queues=["a"], pool="p")
    assert not Turn.objects.exists()

    queue_order(1, pool="p")
    queue_order(1, pool="p")
    assert Turn.objects.count() == 1


def test_turns_that_nobody_took_for_a_day_are_forgotten() -> None:
    fill(a=4, b=4)
    queue_order(1, queues=["a", "b"])
    queue_order(1, queues=["b", "a"])
    day = 86_400_000
    assert rotations.prune(day) == 0

    old = Turn.objects.order_by("key").first()
    assert old is not None
    Turn.objects.filter(key=old.key).update(at=ago(day + 1000))

    assert rotations.prune(day) == 1
    assert Turn.objects.count() == 1


# --- starvation -----------------------------------------------------------------------------------


@both_sizes
@spec("FS-8.2-a")
def test_each_backlogged_queue_has_its_share_of_any_ten_turns(fetching: Fetching) -> None:
    fill(c=200, l=200)
    put("p", "c", "l", strategy="strict", starvation_prevention=PREVENTED)

    order = "".join(fetching(50, pool="p") for _ in range(4))

    assert all("l" in order[n : n + 10] for n in range(191))
    assert 20 <= order.count("l") <= 24 + 1  # FS-8.2-b: the rest is strict


@spec("FS-8.2-a")
def test_ten_queues_of_a_tenth_rotate() -> None:
    names = "abcdefghij"
    fill(**dict.fromkeys(names, 10))
    put("p", *names, strategy="strict", starvation_prevention=PREVENTED)

    order = queue_order(100, pool="p")

    assert all(set(order[n : n + 10]) == set(names) for n in range(91))


@spec("D-FS-9")
def test_an_empty_queue_collects_no_credit() -> None:
    fill(c=60)
    put("p", "c", "l", strategy="strict", starvation_prevention=PREVENTED)
    queue_order(40, pool="p")
    fill(l=30)

    order = queue_order(20, pool="p")

    assert order[:7] == "c" * 7
    assert order.count("l") in {2, 3}


@pytest.mark.parametrize("strategy", ["strict", "weighted"])
@spec("FS-8.1-a")
def test_a_queue_that_waited_for_the_interval_is_next(strategy: str) -> None:
    fill(c=60, l=30)
    put("p", strategy=strategy, queues={"c": 1000, "l": 1}, starvation_prevention={
        "enabled": True, "min_dispatch_ratio": 0, "rotation_interval": "PT30S",
    })  # fmt: skip
    assert queue_order(1, pool="p") == "c"
    if strategy == "strict":
        assert queue_order(5, pool="p") == "ccccc"

    make_older(timedelta(seconds=31))

    assert queue_order(3, pool="p") == "lcc"


def make_older(by: timedelta) -> None:
    """Move back the waiting jobs and the last turns of all queues except the first."""
    row = Turn.objects.get()
    Turn.objects.update(since=[row.since[0], *(at - by for at in row.since[1:])])
    Ready.objects.update(enqueued_at=ago(int(by.total_seconds() * 1000)))


@spec("FS-8.1-a")
def test_a_queue_nobody_looked_at_while_it_was_empty_did_not_starve() -> None:
    fill(c=9, l=1)
    put("p", "c", "l", strategy="strict", starvation_prevention={
        "enabled": True, "min_dispatch_ratio": 0, "rotation_interval": "PT30S",
    })  # fmt: skip
    queue_order(1, pool="p")
    make_older(timedelta(seconds=31))
    Ready.objects.update(enqueued_at=ago(0))

    assert queue_order(3, pool="p") == "ccc"


# --- tenants --------------------------------------------------------------------------------------


def tenants(count: int, **body: Any) -> list[str]:
    """Fetch and return the tenants of the jobs."""
    return [job["meta"]["tenant_id"] for job in taken(count, **body)]


@spec("FS-9.1-a")
def test_a_burst_of_one_tenant_does_not_hold_up_another() -> None:
    of_tenant("A", 1000)
    of_tenant("B", 10)

    assert Counter(tenants(20, queues=["q"])) == {"A": 10, "B": 10}


@spec("FS-9.1-b")
def test_jobs_that_name_no_tenant_are_one() -> None:
    of_tenant("A", 40)
    fill(q=40)

    found = Counter(job["meta"].get("tenant_id") for job in taken(20, queues=["q"]))

    assert found == {"A": 10, None: 10}
    assert set(Lane.objects.values_list("tenant", flat=True)) == {"A", "_default"}


@spec("FS-9.2-a")
def test_tenants_of_a_pool_share_by_weight() -> None:
    of_tenant("A", 60)
    of_tenant("B", 60)
    put("p", "q", tenant_fairness={"enabled": True, "weights": {"tenant:A": 5, "B": 1}})

    found = Counter(t for _ in range(6) for t in tenants(10, pool="p"))

    assert found["A"] in {49, 50, 51}
    assert found["A"] + found["B"] == 60


@spec("FS-9.2-a")
def test_weights_count_for_tenants_that_come_later_and_go_with_the_pool() -> None:
    put("p", "q", tenant_fairness={"weights": {"A": 5}, "default_weight": 2})
    for tenant in "AB":
        of_tenant(tenant, 1)
    weights = {lane.tenant: lane.weight for lane in Lane.objects.all()}
    assert weights == {"A": 5, "B": 2}

    put("p", "q", status=200)
    assert {lane.weight for lane in Lane.objects.all()} == {1}


@spec("FS-9.2-a")
def test_the_configuration_holds_where_no_pool_says_anything() -> None:
    of_tenant("A", 1, queue="q")
    put("p", "r", tenant_fairness={"weights": {"A": 3}})
    of_tenant("A", 1, queue="r")

    body = {"tenant_fairness": {"weights": {"tenant:A": 7}}}
    assert send("PUT", "admin/scheduling/config", body).status_code == 200

    assert {lane.queue: lane.weight for lane in Lane.objects.all()} == {"q": 7, "r": 3}
    of_tenant("A", 1, queue="s")
    assert Lane.objects.get(queue="s").weight == 7


@spec("FS-9.2-a")
def test_two_pools_cannot_share_a_queue_by_different_weights() -> None:
    put("p", "q", tenant_fairness={"weights": {"A": 3}})
    put("same", "q", tenant_fairness={"weights": {"A": 3}})
    put("silent", "q")

    answer = send("PUT", "admin/pools/other", {"queues": ["q"], "tenant_fairness": {}})

    assert refused(answer, 409, "conflict")["queue"] == "q"


@spec("FS-9.2-b")
def test_fs_14_4_without_weights_tenants_are_equal() -> None:
    of_tenant("A", 100)
    of_tenant("B", 100)
    put("p", "q", tenant_fairness={
        "enabled": True, "strategy": "fair-share", "default_weight": 1,
    })  # fmt: skip

    found = Counter(t for _ in range(6) for t in tenants(10, pool="p"))

    assert abs(found["A"] - 30) <= 1


@spec("FS-9.3-a")
def test_tenants_are_equal_inside_a_priority_alone() -> None:
    of_tenant("A", 20, priority=10)
    of_tenant("B", 20)
    put("p", "q", tenant_fairness={"weights": {"B": 100}})

    assert tenants(30, pool="p") == ["A"] * 20 + ["B"] * 10
