"""Examples of the specification, with its request bodies. Spec: MT 14."""

from collections import Counter
from typing import Any

import orjson
import pytest

from tests.spec import spec
from tests.tenancy.wire import answer, push, send

pytestmark = pytest.mark.usefixtures("store")

TIERS: list[dict[str, Any]] = [
    orjson.loads(tier)
    for tier in (
        b"""
        {
          "tenant_id": "enterprise-acme",
          "limits": {
            "max_concurrency": 50,
            "max_queue_depth": 200000,
            "max_enqueue_rate": { "limit": 5000, "period": "PT1M" }
          },
          "fairness_weight": 20
        }
        """,
        b"""
        {
          "tenant_id": "standard-beta",
          "limits": {
            "max_concurrency": 10,
            "max_queue_depth": 50000,
            "max_enqueue_rate": { "limit": 1000, "period": "PT1M" }
          },
          "fairness_weight": 5
        }
        """,
        b"""
        {
          "tenant_id": "free-gamma",
          "limits": {
            "max_concurrency": 2,
            "max_queue_depth": 1000,
            "max_enqueue_rate": { "limit": 100, "period": "PT1M" }
          },
          "fairness_weight": 1
        }
        """,
    )
]
REPORT = {"type": "report.generate", "args": [{"report_id": "rpt_789"}]}


@pytest.fixture
def tiers(store: None) -> None:
    """Configure the three tiers."""
    for tier in TIERS:
        shown = answer(send("PUT", f"admin/tenants/{tier['tenant_id']}", tier), 201)
        assert shown["isolation"] == "hybrid"


@pytest.mark.usefixtures("tiers")
@spec("multi-tenancy 14.1")
def test_tiers_share_the_workers_by_weight_and_within_their_limits() -> None:
    for tier in TIERS:
        for _ in range(60):
            push(tier["tenant_id"])

    sent = {"queues": ["default"], "count": 26}
    first = answer(send("POST", "workers/fetch", sent))["jobs"]
    rest = answer(send("POST", "workers/fetch", {"queues": ["default"], "count": 100}))["jobs"]

    assert Counter(job["meta"]["tenant_id"] for job in first) == {
        "enterprise-acme": 20, "standard-beta": 5, "free-gamma": 1,
    }  # fmt: skip
    assert Counter(job["meta"]["tenant_id"] for job in [*first, *rest]) == {
        "enterprise-acme": 50, "standard-beta": 10, "free-gamma": 2,
    }  # fmt: skip


@pytest.mark.usefixtures("tiers")
@spec("multi-tenancy 14.2")
def test_a_job_is_scoped_to_the_tenant_of_the_header() -> None:
    job = answer(send("POST", "jobs", REPORT, X_OJS_Tenant="enterprise-acme"), 201)["job"]

    assert job["meta"]["tenant_id"] == "enterprise-acme"
    assert job["args"] == REPORT["args"]


@pytest.mark.usefixtures("tiers")
@spec("multi-tenancy 14.3")
def test_the_health_of_a_tenant_is_read_and_its_capacity_reduced() -> None:
    for _ in range(8):
        push("enterprise-acme")

    listed = answer(send("GET", "admin/tenants"))["items"]
    stats = answer(send("GET", "admin/tenants/enterprise-acme/stats"))
    reduced = answer(send("PUT", "admin/tenants/enterprise-acme/limits", {"max_concurrency": 5}))

    tiers = [tier["tenant_id"] for tier in TIERS]
    assert [one["tenant_id"] for one in listed] == sorted(["_default", *tiers])
    assert stats["limits"]["max_concurrency"] == {"limit": 50, "current": 0}
    assert reduced["limits"]["max_concurrency"] == 5
    assert reduced["limits"]["max_queue_depth"] == 200_000
    found = answer(send("POST", "workers/fetch", {"queues": ["default"], "count": 100}))["jobs"]
    assert len(found) == 5


@pytest.mark.parametrize("model", ["namespace", "shared", "hybrid"])
@spec("multi-tenancy 6")
def test_the_seed_s_three_tenants_in_each_model(model: str) -> None:
    for tenant in ("acme", "beta", "gamma"):
        answer(send("PUT", f"admin/tenants/{tenant}", {"isolation": model}), 201)
        push(tenant)
        push(tenant)

    shared = answer(send("POST", "workers/fetch", {"queues": ["default"], "count": 3}))["jobs"]
    own = answer(send("POST", "workers/fetch", {"queues": ["acme:default"], "count": 9}))["jobs"]

    named = [job["meta"]["tenant_id"] for job in shared]
    assert sorted(named) == ([] if model == "namespace" else ["acme", "beta", "gamma"])
    assert len(own) == (2 if model == "namespace" else 1)
