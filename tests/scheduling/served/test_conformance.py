"""Required (FS-001 to 004) and recommended (FS-R001 to R006) behaviour. Spec: FS 12."""

import threading
from collections import Counter
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from tests.concurrency import at_once
from tests.scheduling.pools import of_tenant
from tests.scheduling.served.conftest import Served
from tests.spec import spec


@spec("FS-001")
def test_each_job_is_delivered_to_exactly_one_worker(served: Served) -> None:
    ids = served.fill(a=90, b=60)

    def work(worker_id: str) -> list[tuple[str, int, str]]:
        got: list[tuple[str, int, str]] = []
        while jobs := served.fetch(4, queues=["a", "b"], worker_id=worker_id):
            got += [(job["id"], job["attempt"], worker_id) for job in jobs]
        return got

    got = [held for part in at_once([partial(work, f"w{n}") for n in range(8)]) for held in part]

    assert sorted((job_id, attempt) for job_id, attempt, _ in got) == sorted((i, 1) for i in ids)
    for job_id, _, worker_id in got[:10]:
        shown = served.send("GET", f"admin/jobs/{job_id}")
        assert (shown["state"], shown["worker_id"]) == ("active", worker_id)


@spec("FS-002")
def test_a_worker_may_consume_from_several_queues(served: Served) -> None:
    served.fill(critical=2, default=2, low=2)

    found = [job["queue"] for job in served.fetch(9, queues=["critical", "default", "low"])]

    assert found == ["critical", "default", "low"] * 2


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("round-robin", "abcabcabc"),
        ("weighted", Counter(a=5, b=3, c=1)),
        ("least-loaded", "abcabcabc"),
        ("strict", "aaaaaaaaa"),
    ],
)
@spec("FS-003", "FS-4.3-a")
def test_there_are_fair_distribution_strategies(
    served: Served, strategy: str, order: str | Counter[str]
) -> None:
    served.fill(a=9, b=9, c=9)
    weights = {"weights": {"a": 5, "b": 3}} if strategy == "weighted" else {}
    served.put("p", "a", "b", "c", strategy=strategy, **weights)

    found = served.one_by_one(9, pool="p")

    assert (Counter(found) if strategy == "weighted" else found) == order


@spec("FS-004")
def test_pools_are_listed(served: Served) -> None:
    served.fill(critical=2)
    served.put("critical-workers", "critical", "payments", concurrency=20, strategy="strict")
    served.put(
        "default-workers", strategy="weighted", concurrency=50,
        queues={"default": 3, "email": 2, "notifications": 1},
    )  # fmt: skip
    served.fetch(2, pool="critical-workers", worker_id="w1")

    items = served.send("GET", "admin/pools")["items"]

    shown = ("name", "queues", "concurrency", "strategy", "active_workers", "active_jobs")
    assert [[pool[member] for member in shown] for pool in items] == [
        ["critical-workers", ["critical", "payments"], 20, "strict", 1, 2],
        ["default-workers", ["default", "email", "notifications"], 50, "weighted", 0, 0],
    ]
    assert items[1]["weights"] == {"default": 3, "email": 2, "notifications": 1}


def test_fs_r001_pools_have_queues_and_a_limit_of_active_jobs(served: Served) -> None:
    served.fill(a=5, b=5, c=5)
    served.put("p", "a", "b", concurrency=4)

    got = at_once([partial(served.queue_order, 3, pool="p") for _ in range(4)])

    assert Counter("".join(got)) == {"a": 2, "b": 2}
    assert served.queue_order(1, pool="p", queues=["c"]) == ""


def test_fs_r002_weights_are_configurable_and_shares_follow_them(served: Served) -> None:
    served.fill(critical=60, default=60, low=60)
    queues = ["critical", "default", "low"]
    wish = {"queues": queues, "strategy": "weighted"}

    by_wish = {"critical": 5, "default": 2, "low": 1}
    found = Counter(job["queue"] for _ in range(4) for job in
                    served.fetch(8, **wish, weights=by_wish))  # fmt: skip
    assert found == {"critical": 20, "default": 8, "low": 4}

    # the configuration of the server precedes the wishes of the worker
    served.put("p", strategy="weighted", queues={"critical": 1, "default": 1, "low": 6})
    found = Counter(job["queue"] for _ in range(4) for job in
                    served.fetch(8, pool="p", **wish, weights=by_wish))  # fmt: skip
    assert found == {"critical": 4, "default": 4, "low": 24}


def test_fs_r003_starving_queues_are_rotated_in(served: Served) -> None:
    served.fill(high=300, middle=60, low=60)
    prevention = {"enabled": True, "rotation_interval": "PT5S", "min_dispatch_ratio": 0.05}
    served.put("p", "high", "middle", "low", strategy="strict", starvation_prevention=prevention)
    shown = served.send("GET", "admin/pools/p")
    assert shown["starvation_prevention"] == prevention
    order: list[str] = []
    lock = threading.Lock()

    # more workers than processes; only the total counts and each batch are checked
    def work() -> None:
        got = [job["queue"] for _ in range(3) for job in served.fetch(20, pool="p")]
        with lock:
            order.extend(got)

    at_once([work] * 4)

    found = Counter(order)
    assert len(order) == 240
    for queue in ("middle", "low"):
        assert 12 <= found[queue] <= 24
    one_worker = [served.fetch(1, pool="p")[0]["queue"] for _ in range(41)]
    at = [n for n, queue in enumerate(one_worker) if queue == "low"]
    assert all(later - before <= 20 for before, later in pairwise([-1, *at, 41]))


@spec("FS-12-b")
def test_fs_r004_statistics_show_what_each_queue_was_given(served: Served) -> None:
    served.fill(a=4, b=4)
    served.put("p", "a", "b")
    assert served.queue_order(4, pool="p") == "abab"

    found = served.send("GET", "admin/scheduling/stats")

    assert found["window"] == "PT1M"
    shown = ("name", "dispatch_count_1m", "dispatch_ratio_1m", "active_jobs", "available_jobs")
    assert [[queue[member] for member in shown] for queue in found["queues"]] == [
        ["a", 2, 0.5, 2, 2],
        ["b", 2, 0.5, 2, 2],
    ]


def test_fs_r005_tenants_of_a_queue_share_it(served: Served) -> None:
    of_tenant("A", 200)
    of_tenant("B", 20)

    got = [served.fetch(10, queues=["q"]) for _ in range(4)]

    tenants = Counter(job["meta"]["tenant_id"] for jobs in got for job in jobs)
    assert tenants == {"A": 20, "B": 20}


def test_fs_r006_jobs_of_an_isolated_pool_go_to_its_workers_alone(served: Served) -> None:
    served.fill(gpu=20, cpu=20)
    served.put("gpu-workers", "gpu", isolated=True)
    served.put("all-workers", "gpu", "cpu")

    wishes: list[dict[str, Any]] = [
        {"pool": "gpu-workers"},
        {"pool": "all-workers"},
        {"queues": ["gpu", "cpu"]},
    ]
    got = at_once([partial(served.fetch, 4, **wish) for wish in wishes * 2])

    found = [{job["queue"] for job in jobs} for jobs in got]
    assert found == [{"gpu"}, {"cpu"}, {"cpu"}] * 2
