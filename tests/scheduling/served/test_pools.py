"""Pools, strategies and starvation prevention, decided by several processes. Spec: FS 5 to 8."""

from collections import Counter
from functools import partial
from itertools import pairwise

import pytest

from tests.concurrency import at_once
from tests.scheduling.pools import PREVENTED
from tests.scheduling.served.conftest import Served
from tests.spec import spec

both_sizes = pytest.mark.parametrize("fetching", ["queue_order", "one_by_one"])


@spec("FS-6.1-b")
def test_concurrency_caps_the_jobs_of_all_workers(served: Served) -> None:
    served.fill(a=9)
    served.put("p", "a", concurrency=3)

    got = [served.fetch(10, pool="p", worker_id=worker) for worker in ("w1", "w2")]

    assert [len(jobs) for jobs in got] == [3, 0]
    served.ack(got[0][0], "w1")
    assert len(served.fetch(10, pool="p", worker_id="w2")) == 1
    assert served.fetch(10, pool="p", worker_id="w1") == []


@spec("FS-6.1-b")
def test_workers_that_ask_at_once_get_no_more_than_the_cap(served: Served) -> None:
    served.fill(a=40, b=40)
    served.put("p", "a", "b", concurrency=7)

    got = at_once([partial(served.fetch, 5, pool="p") for _ in range(12)])

    assert sum(map(len, got)) == 7
    assert served.send("GET", "admin/pools/p")["active_jobs"] == 7


@spec("FS-6.2-b")
def test_a_worker_is_in_one_pool(served: Served) -> None:
    served.put("p", "a")
    served.fetch(pool="p", worker_id="w1")

    sent = {"pool": "q", "queues": ["a"], "worker_id": "w1"}
    refused = served.send("POST", "workers/fetch", sent, 409)

    assert refused["error"]["code"] == "pool_conflict"
    assert served.send("GET", "admin/workers/w1")["pool"] == "p"


@spec("FS-6.3-a")
def test_an_isolated_queue_is_for_its_pool_alone(served: Served) -> None:
    served.fill(gpu=2)
    served.put("a", "gpu", isolated=True)
    served.put("b", "gpu")

    assert served.fetch(9, queues=["gpu"]) == []
    assert served.fetch(9, pool="b") == []
    assert len(served.fetch(9, pool="a", worker_id="w1")) == 2


@spec("FS-6.3-a")
def test_isolation_counts_and_ends_for_every_process_at_once(served: Served) -> None:
    served.fill(gpu=8)
    for _ in range(4):
        served.put("a", "gpu", isolated=True)
        # more requests at once than processes
        closed = at_once([partial(served.fetch, 1, queues=["gpu"]) for _ in range(6)])
        served.send("DELETE", "admin/pools/a", status=204)
        opened = served.fetch(1, queues=["gpu"])

        assert [len(jobs) for jobs in [*closed, opened]] == [0] * 6 + [1]


def test_a_new_pool_counts_in_every_process_at_once(served: Served) -> None:
    served.fill(a=60)
    for n in range(5):
        served.put(f"p{n}", "a")

        got = at_once([partial(served.fetch, 1, pool=f"p{n}") for _ in range(6)])

        assert [len(jobs) for jobs in got] == [1] * 6


@spec("FS-6.3-b")
def test_without_isolation_any_pool_may_have_a_job(served: Served) -> None:
    served.fill(q=2)
    served.put("a", "q")
    served.put("b", "q")

    assert [served.queue_order(pool=pool) for pool in "ab"] == ["q", "q"]


@both_sizes
@spec("FS-7.1-a")
def test_round_robin_takes_one_job_of_each_queue_per_cycle(served: Served, fetching: str) -> None:
    served.fill(a=3, b=3, c=1)

    assert getattr(served, fetching)(7, queues=["a", "b", "c"]) == "abcabab"


@spec("FS-7.1-b")
def test_round_robin_is_the_default(served: Served) -> None:
    served.fill(a=2, b=2)

    assert served.put("p", "a", "b")["strategy"] == "round-robin"
    assert served.one_by_one(4, pool="p") == "abab"


@spec("FS-7.2-a")
def test_least_loaded_gives_a_worker_what_it_can_run(served: Served) -> None:
    served.fill(a=9, b=2)
    served.put("p", "a", "b", strategy="least-loaded")
    beat = {"worker_id": "w1", "pool": "p", "concurrency": 2}
    served.send("POST", "workers/heartbeat", beat)

    first = served.fetch(5, worker_id="w1")

    assert len(first) == 2
    assert served.fetch(5, worker_id="w1") == []
    served.ack(first[0], "w1")
    assert len(served.fetch(5, worker_id="w1")) == 1


@both_sizes
@spec("FS-7.2-b")
def test_least_loaded_takes_from_the_deepest_queue(served: Served, fetching: str) -> None:
    served.fill(a=10, b=3)
    served.put("p", "a", "b", strategy="least-loaded")

    assert getattr(served, fetching)(13, pool="p") == "aaaaaaaabab" + "ab"


@both_sizes
@spec("FS-7.3-a")
def test_dispatches_are_proportional_to_weights(served: Served, fetching: str) -> None:
    served.fill(a=60, b=60, c=60)
    served.put("p", strategy="weighted", queues={"a": 3, "b": 2, "c": 1})

    found = Counter(getattr(served, fetching)(60, pool="p"))

    assert found == {"a": 30, "b": 20, "c": 10}


@spec("FS-7.3-b")
def test_a_queue_of_any_weight_is_served_within_a_bound(served: Served) -> None:
    served.fill(a=1002, b=1)
    served.put("p", strategy="weighted", queues={"a": 1000, "b": 1})

    order = "".join(served.queue_order(100, pool="p") for _ in range(11))

    assert order.index("b") <= 1002


@spec("FS-8.1-a")
def test_a_queue_that_waited_for_the_interval_is_next(served: Served) -> None:
    served.fill(c=2000, l=3)
    served.put("p", "c", "l", strategy="strict", starvation_prevention={
        "enabled": True, "min_dispatch_ratio": 0, "rotation_interval": "PT1S",
    })  # fmt: skip

    # the first queue has far more jobs than a client can fetch in a second
    order = ""
    while "l" not in order and served.fetch(1, queues=["other"]) == []:
        order += served.queue_order(pool="p")
        assert len(order) < 2000

    assert order[0] == "c"
    assert order[-1] == "l"


@both_sizes
@spec("FS-8.2-a", "FS-8.2-b")
def test_each_queue_has_its_least_share_and_the_rest_is_strict(
    served: Served, fetching: str
) -> None:
    served.fill(c=220, l=220)
    served.put("p", "c", "l", strategy="strict", starvation_prevention=PREVENTED)

    order = "".join(getattr(served, fetching)(50, pool="p") for _ in range(4))

    at = [n for n, queue in enumerate(order) if queue == "l"]
    assert all(later - before <= 10 for before, later in pairwise([-1, *at, 200]))
    assert 20 <= len(at) <= 24
