"""Examples of the specification, with its request bodies. Spec: fair-scheduling 14."""

from collections import Counter
from typing import Any

import orjson
import pytest

from jobs.services.outcome.ack import Ack, ack
from tests.scheduling.pools import fill, get, of_tenant, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

MULTI_QUEUE_WORKER = b"""
{
  "worker": {
    "id": "worker-abc-123",
    "pool": "general",
    "queues": ["critical", "default", "low"],
    "strategy": "weighted",
    "weights": { "critical": 5, "default": 3, "low": 1 },
    "concurrency": 10
  }
}
"""
DEDICATED_POOL = b"""
{
  "pools": [
    {
      "name": "payment-workers",
      "queues": ["payments"],
      "concurrency": 10,
      "strategy": "strict",
      "isolated": true
    },
    {
      "name": "general-workers",
      "queues": ["default", "email", "notifications"],
      "concurrency": 50,
      "strategy": "round-robin"
    }
  ]
}
"""
STARVATION_PREVENTION = b"""
{
  "pool": {
    "name": "general",
    "queues": ["critical", "default", "analytics"],
    "strategy": "strict",
    "starvation_prevention": {
      "enabled": true,
      "rotation_interval": "PT30S",
      "min_dispatch_ratio": 0.10
    }
  }
}
"""
TENANT_FAIRNESS = b"""
{
  "tenant_fairness": {
    "enabled": true,
    "strategy": "fair-share",
    "default_weight": 1
  }
}
"""


def queues(jobs: list[dict[str, Any]]) -> list[str]:
    """Return the queues of jobs."""
    return [job["queue"] for job in jobs]


def sent(method: str, path: str, body: object, status: int) -> None:
    """Send a body and check the status."""
    answer = send(method, path, body)
    assert answer.status_code == status, answer.content


@spec("fair-scheduling 14.1")
def test_a_worker_serves_three_queues_five_three_and_one_ninths_of_the_time() -> None:
    worker = orjson.loads(MULTI_QUEUE_WORKER)["worker"]
    fill(critical=60, default=60, low=60)
    sent("POST", "workers/register", orjson.loads(MULTI_QUEUE_WORKER), 200)
    # each FETCH carries these members, with the id as `worker_id`
    said = {**worker, "worker_id": worker["id"]}

    found: Counter[str] = Counter()
    for _ in range(9):
        jobs = taken(10, **said)
        found.update(queues(jobs))
        ack([Ack(job["id"]) for job in jobs])  # it holds at most as many jobs as its concurrency

    assert found == {"critical": 50, "default": 30, "low": 10}
    shown = get("admin/workers/worker-abc-123")
    assert (shown["pool"], shown["concurrency"]) == ("general", 10)


@spec("fair-scheduling 14.2")
def test_payments_are_for_their_pool_exclusively() -> None:
    for pool in orjson.loads(DEDICATED_POOL)["pools"]:
        sent("PUT", f"admin/pools/{pool['name']}", pool, 201)
    fill(payments=12, default=2, email=2, notifications=2)

    general = ["default", "email", "notifications"]
    assert queues(taken(9, pool="general-workers", worker_id="general-1")) == general * 2
    assert taken(9, pool="general-workers", queues=["payments"]) == []
    assert taken(9, queues=["payments"]) == []
    assert queues(taken(50, pool="payment-workers", worker_id="payment-1")) == ["payments"] * 10


@spec("fair-scheduling 14.3")
def test_analytics_gets_a_tenth_of_the_dispatches_under_load() -> None:
    sent("PUT", "admin/pools/general", orjson.loads(STARVATION_PREVENTION), 201)
    fill(critical=100, default=30, analytics=30)

    found = [queue for _ in range(10) for queue in queues(taken(10, pool="general"))]

    for start in range(91):
        assert found[start : start + 10].count("analytics") >= 1
    assert found.count("critical") >= 70


@spec("fair-scheduling 14.4")
def test_a_tenant_with_10000_jobs_and_one_with_100_get_equal_throughput() -> None:
    sent("PUT", "admin/scheduling/config", orjson.loads(TENANT_FAIRNESS), 200)
    for _ in range(10):
        of_tenant("A", 1000)
    of_tenant("B", 100)

    found = [job["meta"]["tenant_id"] for _ in range(10) for job in taken(20, queues=["q"])]

    for start in range(0, 200, 20):
        assert Counter(found[start : start + 20]) == {"A": 10, "B": 10}
