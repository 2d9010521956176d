"""Required behaviour of a deployed server. Spec: MT 12, MT-12-a."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobs.api.wire.media import OJS_TYPE
from tests.processes import until
from tests.spec import spec

DEADLINE_S = 60
JOB = {"type": "tests.noop", "args": []}


class Wire:
    """Requests to a server."""

    def __init__(self, url: str) -> None:
        """Empty its store."""
        self.client = httpx.Client(base_url=url, timeout=DEADLINE_S)
        self.send("POST", "admin/reset", {})

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send a request; header names with underscores for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(
            method, f"/ojs/v1/{path}", json=body, headers={**named, "Content-Type": OJS_TYPE}
        )

    def push(self, tenant: str, **members: Any) -> httpx.Response:
        """Enqueue a job of a tenant."""
        options = {"options": members} if members else {}
        return self.send("POST", "jobs", {**JOB, "meta": {"tenant_id": tenant}, **options})

    def fetch(self, *queues: str, count: int) -> list[dict[str, Any]]:
        """Fetch jobs."""
        answer = self.send("POST", "workers/fetch", {"queues": list(queues), "count": count})
        found: list[dict[str, Any]] = answer.raise_for_status().json()["jobs"]
        return found


@pytest.fixture
def wire(server: str) -> Iterator[Wire]:
    """Return a client of the server, on an empty store."""
    made = Wire(server)
    yield made
    made.client.close()


@spec("MT-001")
def test_tenant_is_taken_from_meta(wire: Wire) -> None:
    job = wire.push("acme").json()["job"]

    assert job["meta"]["tenant_id"] == "acme"
    assert wire.send("GET", f"jobs/{job['id']}").json()["job"]["meta"] == job["meta"]
    mine = wire.send("GET", "jobs", X_OJS_Tenant="acme").json()["jobs"]
    assert [one["id"] for one in mine] == [job["id"]]


@spec("MT-002")
def test_tenants_share_a_queue_by_turns_and_see_their_own(wire: Wire) -> None:
    for tenant in ["acme"] * 6 + ["beta"] * 2:
        wire.push(tenant).raise_for_status()

    counted = [
        wire.send("GET", "queues/default", X_OJS_Tenant=tenant).json()["queue"]["available"]
        for tenant in ("acme", "beta")
    ]
    first = [job["meta"]["tenant_id"] for job in wire.fetch("default", count=4)]

    assert counted == [6, 2]
    assert sorted(first) == ["acme", "acme", "beta", "beta"]


@spec("MT-003")
def test_active_jobs_of_a_tenant_are_limited_over_all_queues(wire: Wire) -> None:
    limits = {"limits": {"max_concurrency": 2}}
    wire.send("PUT", "admin/tenants/acme", limits).raise_for_status()
    for queue in ("a", "b", "c"):
        wire.push("acme", queue=queue).raise_for_status()

    taken = wire.fetch("a", "b", "c", count=10)

    assert len(taken) == 2
    wire.send("POST", "workers/ack", {"job_id": taken[0]["id"]}).raise_for_status()
    assert len(wire.fetch("a", "b", "c", count=10)) == 1


@spec("MT-004")
def test_job_beyond_a_limit_is_refused(wire: Wire) -> None:
    wire.send("PUT", "admin/tenants/acme", {"limits": {"max_queue_depth": 1}}).raise_for_status()
    wire.push("acme").raise_for_status()

    answer = wire.push("acme")

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (429, "TENANT_LIMIT_EXCEEDED")
    assert int(answer.headers["Retry-After"]) > 0
    told = {name: error[name] for name in ("tenant_id", "limit", "current", "maximum")}
    assert told == {"tenant_id": "acme", "limit": "max_queue_depth", "current": 1, "maximum": 1}


@spec("MT-005")
def test_tenants_are_listed_and_counted(wire: Wire) -> None:
    wire.push("acme").raise_for_status()

    listed = wire.send("GET", "admin/tenants").json()["items"]
    stats = wire.send("GET", "admin/tenants/acme/stats").json()

    assert "acme" in {one["tenant_id"] for one in listed}
    assert (stats["tenant_id"], stats["jobs"]["available"]) == ("acme", 1)


@spec("MT-006")
def test_metrics_carry_the_tenant(wire: Wire) -> None:
    wire.push("acme", queue="q").raise_for_status()

    def figures(sample: str) -> dict[str, float]:
        page = wire.client.get("/metrics").raise_for_status().text
        return {
            one.labels["tenant_id"]: one.value
            for family in text_string_to_metric_families(page)
            for one in family.samples
            if one.name == sample and one.labels["queue"] == "q"
        }

    until(lambda: figures("ojs_tenant_jobs_enqueued_total") == {"acme": 1}, "the count of the job")
    until(lambda: figures("ojs_tenant_queue_depth") == {"acme": 1}, "the depth of the tenant")
    until(lambda: figures("ojs_job_enqueued_total") == {"acme": 1}, "the label of other metrics")
