"""Isolation models of tenants, and workers of a single tenant. Spec: MT 6, 7.3, D-MT-6, 7, 9."""

from collections import Counter
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.domain.access.keys import SCOPES
from jobs.models import Lane, Lease
from jobs.services.lanes import lanes
from scheduling.services import pool_cache
from tenancy.extension import Tenancy
from tenancy.services import tenant_cache
from tenancy.services.isolation import reconcile
from tests.jobs.services.dispatch.test_explain_agrees import pass_an_hour
from tests.processes import DEADLINE_S
from tests.spec import spec
from tests.tenancy.wire import answer, push, put, send

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def rules(settings: Any) -> Any:
    """Return a function that changes settings of tenancy for a test."""

    def change(**chosen: Any) -> None:
        settings.OJS_TENANCY = {**settings.OJS_TENANCY, **chosen}
        lanes.clear_cache()

    return change


def take(*queues: str, count: int = 100, status: int = 200, **headers: str) -> Any:
    """Fetch; return the tenants of the jobs, or the error."""
    sent = {"queues": list(queues) or ["default"], "count": count}
    found = answer(send("POST", "workers/fetch", sent, **headers), status)
    if status != 200:
        return found["error"]
    return [job.get("meta", {}).get("tenant_id") for job in found["jobs"]]


def fill(tenant: str | None, number: int = 1, queue: str = "default", **job: Any) -> None:
    """Enqueue equal jobs."""
    options = {"queue": queue, **job.pop("options", {})}
    for _ in range(number):
        push(tenant, options=options, **job)


def explained(job_id: str, gate: str = "tenant") -> dict[str, Any]:
    """Return a gate of a waiting job."""
    found = answer(send("GET", f"admin/jobs/{job_id}/explain"))
    (one,) = [one for one in found["gates"] if one["gate"] == gate]
    return dict(one)


@spec("MT-6.1-a")
def test_claim_without_a_tenant_takes_none_of_a_namespace() -> None:
    put("acme", isolation="namespace")
    fill("acme", 2)
    fill("beta")
    fill(None)

    assert Counter(take()) == {"beta": 1, None: 1}
    assert take(X_OJS_Tenant="acme") == ["acme", "acme"]


@spec("MT-6.1-a")
def test_every_tenant_has_a_namespace_where_the_settings_say_so(rules: Any) -> None:
    rules(ISOLATION="namespace")
    put("open", isolation="hybrid")
    for tenant in ("acme", "beta", "open", None):
        fill(tenant)

    assert answer(send("GET", "admin/tenants/acme"))["isolation"] == "namespace"
    assert Counter(take()) == {"open": 1, None: 1}
    assert take(X_OJS_Tenant="beta") == ["beta"]
    assert take("acme:default") == ["acme"]


@spec("MT-6.1-a")
def test_the_default_tenant_has_no_namespace() -> None:
    error = put("_default", status=422, isolation="namespace")["error"]

    assert error["details"]["field"] == "isolation"


@spec("MT-6.1-a")
def test_each_tenant_counts_its_own_jobs_alone() -> None:
    for tenant, number in (("acme", 3), ("beta", 2)):
        put(tenant, isolation="namespace")
        fill(tenant, number)
    fill(None)

    def shown(path: str, **headers: str) -> Any:
        return answer(send("GET", f"queues/default{path}", **headers))

    for tenant, number in (("acme", 3), ("beta", 2)):
        assert shown("/stats", X_OJS_Tenant=tenant)["stats"]["available"] == number
        assert shown("", X_OJS_Tenant=tenant)["stats"]["available"] == number
        assert shown("/priority-stats", X_OJS_Tenant=tenant)["total"] == number
        oldest = answer(send("GET", "admin/queues/default", X_OJS_Tenant=tenant))
        assert oldest["oldest_available_at"] is not None
    assert shown("/stats")["stats"]["available"] == 6
    assert shown("/priority-stats")["total"] == 6


@spec("MT-6.1-a")
def test_a_queue_where_a_tenant_has_nothing_is_not_listed_to_it() -> None:
    fill("acme", queue="mail")
    fill("beta", queue="default")

    def listed(**headers: str) -> list[str]:
        found = answer(send("GET", "queues", **headers))
        assert found["pagination"]["total"] == len(found["queues"])
        return [one["name"] for one in found["queues"]]

    assert listed(X_OJS_Tenant="acme") == ["mail"]
    assert listed() == ["default", "mail"]


@pytest.mark.parametrize("model", ["shared", "hybrid"])
@spec("MT-6.2-a")
def test_tenants_of_one_queue_are_interleaved(model: str) -> None:
    for tenant, number in (("acme", 30), ("beta", 5)):
        put(tenant, isolation=model)
        fill(tenant, number)

    assert Counter(take(count=10)) == {"acme": 5, "beta": 5}


@spec("MT-6.3-a")
def test_shards_are_limited_and_held_one_by_one() -> None:
    put("acme", isolation="hybrid", limits={"max_concurrency": 1})
    put("beta", isolation="hybrid")
    for tenant in ("acme", "beta", "gamma"):
        fill(tenant, 3)
    answer(send("POST", "admin/tenants/gamma/suspend"))

    assert Counter(take()) == {"acme": 1, "beta": 3}


# --- moving ---------------------------------------------------------------------------------------


@spec("D-MT-6")
def test_a_tenant_moves_with_the_jobs_that_wait() -> None:
    fill("acme", 3)
    fill("acme", 2, queue="mail", options={"priority": 5})
    before = list(Lane.objects.order_by("id").values_list("id", flat=True))

    put("acme", status=200, isolation="namespace")
    assert take("default", "mail") == []
    assert set(Lane.objects.values_list("queue", flat=True)) == {"acme:default", "acme:mail"}
    put("acme", status=200, isolation="shared")

    assert take("default", "mail") == ["acme"] * 5
    assert list(Lane.objects.order_by("id").values_list("id", flat=True)) == before


@spec("D-MT-6")
def test_who_comes_back_has_neither_saved_nor_lost_turns() -> None:
    put("acme", isolation="namespace")
    fill("acme", 40)  # two lanes of one priority, whose virtual times are compared below
    fill("acme", 40, options={"rate_limit": {"key": "one", "concurrency": 50}})
    fill("beta", 30)
    take(count=5)
    take(count=40, X_OJS_Tenant="acme")
    put("acme", status=200, isolation="hybrid")

    assert Counter(take(count=12)) == {"acme": 8, "beta": 4}  # two shares for the two lanes of acme


@spec("D-MT-6")
def test_whoever_waits_looks_again_when_jobs_leave_a_namespace(database_url: str) -> None:
    put("acme", isolation="namespace")
    fill("acme")

    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("LISTEN ojs_ready")
        put("acme", status=200, isolation="hybrid")
        told = list(other.notifies(timeout=DEADLINE_S, stop_after=1))

    assert len(told) == 1


@spec("D-MT-6")
def test_what_is_active_or_comes_later_moves_as_well() -> None:
    push("acme", scheduled_at="2099-01-01T00:00:00Z")
    fill("acme")
    (job,) = answer(send("POST", "workers/fetch", {"queues": ["default"]}))["jobs"]
    put("acme", status=200, isolation="namespace")

    sent = {"job_id": job["id"], "requeue": True, "error": {"code": "x", "message": "x"}}
    answer(send("POST", "workers/nack", sent))

    assert take() == []
    assert take(X_OJS_Tenant="acme") == ["acme"]


@spec("D-MT-6")
def test_the_settings_move_lanes_that_are_there(rules: Any) -> None:
    put("open", isolation="hybrid")
    fill("acme")
    fill("open")
    rules(ISOLATION="namespace")
    assert "isolation" in {loop.name for loop in Tenancy().loops()}

    assert reconcile() == 1
    assert reconcile() == 0

    assert take(count=1) == ["open"]
    assert take() == []
    rules(ENABLED=False)
    assert reconcile() == 1
    assert take() == ["acme"]


@spec("D-MT-6")
def test_deleting_a_tenant_ends_its_namespace() -> None:
    put("acme", isolation="namespace")
    fill("acme")
    take(X_OJS_Tenant="acme")
    lease = Lease.objects.get()
    answer(send("POST", "workers/ack", {"job_id": str(lease.id)}))
    answer(send("DELETE", "admin/tenants/acme"), 204)

    assert Lane.objects.get().queue == "default"
    fill("acme")
    assert take() == ["acme"]


@spec("MT-9.3-a")
def test_the_audit_log_says_where_a_tenant_went() -> None:
    put("acme", isolation="namespace")

    (entry,) = answer(send("GET", "admin/audit"))["items"]
    assert entry["detail"]["isolation"] == "namespace"


@spec("D-MT-6")
def test_a_limit_that_opens_by_itself_opens_in_a_namespace_too() -> None:
    put("acme", isolation="namespace")
    limit = {"key": "one", "rate": {"limit": 1, "period": "PT1H"}}
    fill("acme", 2, options={"rate_limit": limit})
    assert take(X_OJS_Tenant="acme") == ["acme"]
    assert take(X_OJS_Tenant="acme") == []
    assert Lane.objects.exclude(blocked_until=None).get().queue == "acme:default"

    pass_an_hour()

    assert take() == []
    assert take(X_OJS_Tenant="acme") == ["acme"]


def test_a_namespace_costs_a_claim_no_statement() -> None:
    put("acme", isolation="namespace")
    fill("acme")
    fill("beta", 3)
    take(count=1)
    take(count=1, X_OJS_Tenant="acme")

    with CaptureQueriesContext(connection) as found:
        assert take(count=1) == ["beta"]
        assert take(count=1, X_OJS_Tenant="beta") == ["beta"]

    assert len(found) == 2


# --- queues with their tenants --------------------------------------------------------------------


@spec("D-MT-7")
def test_a_queue_is_named_with_its_tenant() -> None:
    put("acme", isolation="namespace")
    put("be:ta")
    fill("acme", 2)
    fill("be:ta", 2)
    fill(None)

    assert take("acme:default", count=1) == ["acme"]
    assert take("be:ta:default") == ["be:ta"] * 2
    assert take("_default:default") == [None]
    assert take("acme:default", "default") == ["acme"]


@spec("D-MT-7")
def test_queues_of_several_tenants_come_one_tenant_after_the_other() -> None:
    for tenant in ("acme", "beta", None):
        fill(tenant, 2, queue="mail")
        fill(tenant, 2)
    names = ("beta:mail", "acme:default", "beta:default", "mail")

    assert take(*names, count=5) == ["beta", "beta", "beta", "beta", "acme"]
    assert take(*names, count=5)[:2] == ["acme", "acme"]


@pytest.mark.parametrize("name", ["acme:default", "a b:default", "-a:default", "_other:default"])
@spec("D-MT-7")
def test_a_tenant_that_nobody_knows_is_no_part_of_a_name(name: str) -> None:
    error = take(name, status=400)

    assert (error["code"], error["details"]["field"]) == ("invalid_request", "queues")


@pytest.mark.parametrize("name", [":default", "acme:", "acme:De", "acme::", "acme:\n", ":"])
@spec("D-MT-7")
def test_what_is_no_queue_after_a_tenant_is_refused(name: str) -> None:
    put("acme")

    error = take(name, status=400)

    assert (error["code"], error["details"]["field"]) == ("invalid_request", "queues")


@spec("D-MT-7")
def test_weights_name_the_queues_as_the_request_does() -> None:
    put("acme", isolation="namespace")
    fill("acme", 8)
    fill("acme", 8, queue="mail")
    sent: dict[str, Any] = {
        "queues": ["acme:default", "acme:mail"], "count": 8, "strategy": "weighted",
        "weights": {"acme:default": 3, "acme:mail": 1},
    }  # fmt: skip

    found = answer(send("POST", "workers/fetch", sent))["jobs"]

    assert Counter(job["queue"] for job in found) == {"default": 6, "mail": 2}
    sent["weights"]["beta:mail"] = 1
    assert send("POST", "workers/fetch", sent).status_code == 422


@spec("D-MT-7")
def test_a_request_of_a_tenant_names_no_queue_of_another() -> None:
    put("acme")
    fill("beta")

    error = take("acme:default", status=403, X_OJS_Tenant="beta")

    assert (error["code"], error["details"]["tenant_id"]) == ("tenant_mismatch", "acme")
    assert take("nobody:default", status=403, X_OJS_Tenant="beta")["code"] == "tenant_mismatch"
    assert take("beta:default", X_OJS_Tenant="beta") == ["beta"]


@spec("D-MT-7")
def test_a_key_for_a_queue_covers_it_with_any_tenant(new_key: Any) -> None:
    put_key = new_key(*SCOPES)
    answer(send("PUT", "admin/tenants/acme", {}, **put_key), 201)
    worker = new_key("ojs:data:fetch", queues_fetch=("mail",))

    assert take("acme:mail", **worker) == []
    assert take("acme:default", status=403, **worker)["code"] == "permission_denied"


# --- strict isolation -----------------------------------------------------------------------------


@spec("MT-7.3-a")
def test_worker_of_a_tenant_gets_no_job_of_another(new_key: Any) -> None:
    anybody, worker = new_key(*SCOPES), new_key(*SCOPES, tenant="acme")
    sent = {"type": "tests.noop", "args": [], "meta": {"tenant_id": "beta"}}
    for _ in range(3):
        answer(send("POST", "jobs", sent, **anybody), 201)

    assert take(**worker) == []
    answer(send("POST", "jobs", {"type": "tests.noop", "args": []}, **worker), 201)
    assert take(**worker) == ["acme"]
    assert take(X_OJS_Tenant="beta", status=403, **worker)["code"] == "tenant_mismatch"


@spec("MT-7.3-a")
def test_a_pool_of_a_tenant_gets_no_job_of_another() -> None:
    put("acme", isolation="namespace")
    pool = {"queues": ["default"], "tenant": "acme", "concurrency": 2}
    shown = answer(send("PUT", "admin/pools/acme-workers", pool), 201)
    fill("beta", 3)

    def fetched(status: int = 200, **headers: str) -> Any:
        sent = {"pool": "acme-workers", "count": 9}
        found = answer(send("POST", "workers/fetch", sent, **headers), status)
        return found.get("jobs", found)

    assert shown["tenant"] == "acme"
    assert fetched() == []
    fill("acme", 3)
    assert [job["meta"]["tenant_id"] for job in fetched()] == ["acme"] * 2  # its concurrency
    error = fetched(403, X_OJS_Tenant="beta")["error"]
    assert (error["code"], error["details"]["pool"]) == ("tenant_mismatch", "acme-workers")


@spec("MT-7.3-a")
def test_pool_that_is_bound_counts_for_the_next_claim_of_every_process() -> None:
    fill("beta", 2)
    answer(send("PUT", "admin/pools/p", {"queues": ["default"]}), 201)
    sent = {"pool": "p", "worker_id": "w1", "count": 1}
    assert len(answer(send("POST", "workers/fetch", sent))["jobs"]) == 1
    known = pool_cache.cache.latest
    answer(send("PUT", "admin/pools/p", {"queues": ["default"], "tenant": "acme"}))
    pool_cache.cache.latest = known  # as in another process

    assert answer(send("POST", "workers/fetch", sent))["jobs"] == []


@spec("contract 20.5")
def test_the_explanation_leaves_out_pools_of_other_tenants() -> None:
    for name, more in (
        ("any", {}),
        ("of-acme", {"tenant": "acme"}),
        ("of-beta", {"tenant": "beta"}),
    ):
        answer(send("PUT", f"admin/pools/{name}", {"queues": ["default", "q"], **more}), 201)
    job = push("beta")

    gates = answer(send("GET", f"admin/jobs/{job['id']}/explain"))["gates"]

    assert [one["name"] for one in gates if one["gate"] == "pool"] == ["any", "of-beta"]
    assert [one["name"] for one in gates if one["gate"] == "turns"] == ["any", "of-beta"]


# --- requests without a tenant --------------------------------------------------------------------


@spec("D-MT-9")
def test_a_request_without_a_tenant_sees_all(rules: Any) -> None:
    rules(UNSCOPED="all")
    job = push("acme")

    answer(send("GET", f"jobs/{job['id']}"))
    assert take() == ["acme"]


@spec("D-MT-9")
def test_a_request_without_a_tenant_may_be_one_of_the_default_one(rules: Any) -> None:
    rules(UNSCOPED="default")
    foreign, own = push("acme"), push()

    answer(send("GET", f"jobs/{foreign['id']}"), 404)
    answer(send("DELETE", f"jobs/{foreign['id']}"), 404)
    answer(send("GET", f"jobs/{own['id']}"))
    assert answer(send("GET", "queues/default/stats"))["stats"]["available"] == 1
    assert take() == [None]
    assert take("acme:default", status=403)["code"] == "tenant_mismatch"
    assert take(X_OJS_Tenant="acme") == ["acme"]
    assert answer(send("GET", "admin/tenants/acme"))["tenant_id"] == "acme"


@spec("D-MT-9")
def test_a_key_that_is_bound_stays_so(rules: Any, new_key: Any) -> None:
    rules(UNSCOPED="default")
    key = new_key(*SCOPES, tenant="acme")
    answer(send("POST", "jobs", {"type": "tests.noop", "args": []}, **key), 201)

    assert take(**key) == ["acme"]


# --- the explanation ------------------------------------------------------------------------------


@spec("contract 20.5")
def test_the_explanation_says_who_may_take_a_job_of_a_namespace() -> None:
    job = push("acme")
    assert explained(job["id"])["state"] == "open"
    put("acme", status=200, isolation="namespace")
    other = push("beta")

    gate = explained(job["id"])

    assert gate["state"] == "unknown"
    assert gate["message"].startswith("Only workers of tenant acme may take it")
    found = answer(send("GET", f"admin/jobs/{other['id']}/explain"))
    assert found["position"]["queue"]["ahead"] == 0  # no job of the namespace is before it


def test_a_process_that_knows_older_terms_makes_lanes_where_the_tenant_is() -> None:
    fill("acme")
    tenant_cache.current(["acme"])
    known = tenant_cache.cache.latest
    put("acme", status=200, isolation="namespace")
    tenant_cache.cache.latest = known
    lanes.clear_cache()

    fill("acme", queue="new")

    assert set(Lane.objects.values_list("queue", flat=True)) == {"acme:default", "acme:new"}
