"""Workers belong to the tenant of the caller that registered them. Spec: MT 5, D-MT-8, 9.1."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Lease, Worker
from jobs.services.dispatch.fetch import fetch
from tests.spec import spec
from tests.tenancy.wire import answer, push, send

pytestmark = pytest.mark.usefixtures("store")

BEATS = ("workers/heartbeat", "workers/beat", "workers/register")


def beat(tenant: str | None = None, *, status: int = 200, path: str = BEATS[0], **body: Any) -> Any:
    """Send a heartbeat as `w1`, for a tenant if given."""
    headers = {} if tenant is None else {"X_OJS_Tenant": tenant}
    return answer(send("POST", path, {"worker_id": "w1", **body}, **headers), status)


def claim(tenant: str | None = None, **body: Any) -> list[dict[str, Any]]:
    """Fetch as `w1`, for a tenant if given."""
    headers = {} if tenant is None else {"X_OJS_Tenant": tenant}
    wanted = {"queues": ["default"], "worker_id": "w1", **body}
    found: list[dict[str, Any]] = answer(send("POST", "workers/fetch", wanted, **headers))["jobs"]
    return found


def leave(tenant: str | None, status: int) -> Any:
    """Deregister `w1`."""
    headers = {} if tenant is None else {"X_OJS_Tenant": tenant}
    return answer(send("DELETE", "workers/w1", **headers), status)


def health(tenant: str) -> int:
    """Return the health of `w1` by the API."""
    return send("GET", "workers/w1/health", X_OJS_Tenant=tenant).status_code


def stored() -> dict[str, Any]:
    """Return the row of `w1`."""
    return dict(Worker.objects.values().get(id="w1"))


@pytest.mark.parametrize("path", BEATS)
@spec("MT-5.1-a")
def test_a_worker_is_that_of_the_tenant_that_registers_it(path: str) -> None:
    beat("acme", path=path, hostname="a")
    before = stored()

    refused = beat("beta", path=path, status=409, hostname="b", state="terminate")["error"]

    assert before["tenant"] == "acme"
    assert stored() == before
    assert (refused["code"], refused["details"]) == ("worker_taken", {"worker_id": "w1"})
    assert "acme" not in str(refused)
    assert beat("acme", path=path)["state" if path != BEATS[2] else "ok"]


@spec("MT-5.1-a")
def test_a_worker_that_only_fetches_is_that_of_its_tenant() -> None:
    claim("acme")

    assert stored()["tenant"] == "acme"
    beat("beta", status=409)


@spec("D-MT-8")
def test_an_idle_worker_of_another_tenant_is_not_there() -> None:
    beat("acme")
    before = stored()

    leave("beta", 404)

    assert health("beta") == 404
    assert stored() == before
    assert health("acme") == 200
    leave("acme", 204)
    assert stored()["stopped_at"] is not None


@spec("D-MT-8")
def test_a_fetch_under_the_id_of_another_tenants_worker_leaves_that_alone() -> None:
    beat("acme", state="quiet", concurrency=1)
    push("beta")
    before = stored()

    (job,) = claim("beta", count=5)

    assert job["meta"]["tenant_id"] == "beta"
    assert Lease.objects.get().worker_id is None  # as if the FETCH had named no worker
    assert stored() == before
    done = {"job_id": job["id"], "worker_id": "w1"}
    assert answer(send("POST", "workers/ack", done, X_OJS_Tenant="beta"))


@spec("D-MT-8")
def test_the_pool_of_another_tenants_worker_is_not_lent() -> None:
    send("PUT", "admin/pools/p", {"queues": ["default"]})
    beat("acme", pool="p")
    push("beta")

    asked = [
        send("POST", "workers/fetch", {"worker_id": worker_id}, X_OJS_Tenant="beta")
        for worker_id in ("w1", "w-new")
    ]
    assert [answer(one, 400)["error"]["details"]["field"] for one in asked] == ["queues"] * 2
    assert len(claim("beta")) == 1
    assert Lease.objects.get().pool is None


@spec("D-MT-9")
def test_who_is_bound_to_no_tenant_speaks_for_any_worker() -> None:
    beat("acme")

    assert beat(state="quiet")["state"] == "quiet"
    assert stored()["tenant"] == "acme"
    assert claim() == []
    leave(None, 204)


@spec("D-MT-9")
def test_a_worker_that_nobody_is_bound_to_is_anybodys() -> None:
    beat()
    push("acme")

    assert len(claim("acme")) == 1
    assert beat("acme")["state"] == "running"
    assert health("acme") == 200
    assert stored()["tenant"] is None


@pytest.mark.parametrize("path", BEATS)
@spec("D-MT-8")
def test_while_it_runs_a_job_of_another_tenant_it_is_not(path: str) -> None:
    beat()
    push("acme")
    claim()
    before = stored()

    beat("beta", path=path, status=409, state="terminate")

    assert health("beta") == 404
    leave("beta", 404)
    assert stored() == before


@spec("MT-5.1-a")
def test_a_dead_worker_stays_its_tenants() -> None:
    beat("acme")
    Worker.objects.update(dead_at=Now(), last_heartbeat_at=Now() - timedelta(hours=1))

    beat("beta", status=409)

    assert beat("acme")["state"] == "running"


def test_the_pool_is_told_to_the_tenant_of_the_worker_alone() -> None:
    for name in ("one", "two"):
        send("PUT", f"admin/pools/{name}", {"queues": [name]})
    beat("acme", pool="one")

    mine = beat("acme", pool="two", status=409)["error"]
    other = beat("beta", pool="two", status=409)["error"]

    assert (mine["code"], mine["details"]["pool"]) == ("pool_conflict", "one")
    assert (other["code"], other["details"]) == ("worker_taken", {"worker_id": "w1"})


def test_a_queue_that_is_named_with_its_tenant_gives_it_no_worker() -> None:
    answer(send("PUT", "admin/tenants/acme", {}), 201)

    claim(queues=["acme:default"])

    assert stored()["tenant"] is None


def test_admin_workers_are_listed_by_tenant() -> None:
    beat("acme")
    fetch(FetchRequest(("default",), worker_id="w2"))

    listed = answer(send("GET", "admin/workers?tenant=acme"))

    assert [(one["id"], one["tenant_id"]) for one in listed["workers"]] == [("w1", "acme")]
    assert listed["summary"]["total"] == 1
    assert answer(send("GET", "admin/workers/w2"))["tenant_id"] is None


@pytest.mark.parametrize("path", BEATS)
@spec("D-MT-8")
def test_an_idle_worker_of_no_tenant_is_not_a_tenants_to_speak_for(path: str) -> None:
    beat(hostname="a")
    before = stored()

    beat("acme", path=path, status=409, hostname="b", state="terminate")
    leave("acme", 404)

    assert health("acme") == 404
    assert stored() == before
