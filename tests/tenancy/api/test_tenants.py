"""Tenants over the API. Spec: MT 8.1, 9.3, 10, 15.1, contract 21.2, 31."""

from datetime import datetime
from typing import Any

import pytest

from jobs.domain.access.keys import SCOPES
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Audit, Job
from tenancy.models import Tenant
from tests.asserts import state
from tests.jobs.services.record.test_rates import aggregated
from tests.spec import spec
from tests.tenancy.wire import answer, event_data, push, put, send

pytestmark = pytest.mark.usefixtures("store")

LIMITS = {
    "max_concurrency": 8, "max_enqueue_rate": {"limit": 300, "period": "PT1M"},
    "max_queue_depth": 2500, "max_scheduled": 400, "max_queues": 9,
}  # fmt: skip
MIRRORED = {**LIMITS, "max_concurrent_jobs": 8, "max_jobs_per_second": 5}
ZEROS = {one.value: 0 for one in State}


def get(path: str = "", status: int = 200, **headers: str) -> Any:
    """Read a resource of tenants."""
    return answer(send("GET", f"admin/tenants{path}", **headers), status)


@spec("MT-8.1-a")
def test_what_was_put_is_shown() -> None:
    sent = {
        "limits": LIMITS, "fairness_weight": 3, "quota_mode": "soft", "name": "Blue Ltd",
        "isolation": "shared",
    }  # fmt: skip

    made = put("blue", **sent)

    assert made["tenant"] == {name: value for name, value in made.items() if name != "tenant"}
    assert get("/blue") == made
    assert {name: made[name] for name in sent} == {**sent, "limits": MIRRORED}
    assert (made["tenant_id"], made["id"]) == ("blue", "blue")
    assert (made["state"], made["source"]) == ("active", "dynamic")
    assert (made["effective_weight"], made["priority_boost"], made["throttle"]) == (3, 0, None)
    assert made["stats"] == {"queues": 0, "jobs": ZEROS, "workers": 0}


@spec("contract 24.5")
def test_every_tenant_has_a_name_and_a_time() -> None:
    put("blue")

    for shown in (*get()["items"], get("/_default"), get("/blue")):
        assert shown["name"] == shown["id"]
        assert datetime.fromisoformat(shown["created_at"])
        assert datetime.fromisoformat(shown["updated_at"])


@spec("MT-8.1-a")
def test_what_was_shown_can_be_put_again() -> None:
    made = put("blue", limits=LIMITS, fairness_weight=3)

    again = put("blue", status=200, **made)

    assert {**again, "tenant": 0, "updated_at": 0} == {**made, "tenant": 0, "updated_at": 0}


@spec("MT-8.1-a")
def test_what_put_leaves_out_gets_its_default_but_the_state() -> None:
    put("blue", limits=LIMITS, fairness_weight=3, state="suspended")

    again = put("blue", status=200)

    assert again["limits"] == dict.fromkeys(MIRRORED)
    assert (again["fairness_weight"], again["quota_mode"]) == (1, "hard")
    assert (again["state"], again["isolation"]) == ("suspended", "hybrid")


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"limits": {"max_jobs": 1}}, "limits.max_jobs", "invalid_request"),
        ({"limits": {"max_concurrency": -1}}, "limits.max_concurrency", "invalid_request"),
        ({"limits": {"max_queue_depth": True}}, "limits.max_queue_depth", "invalid_request"),
        ({"limits": {"max_queues": "3"}}, "limits.max_queues", "invalid_request"),
        ({"limits": []}, "limits", "invalid_request"),
        (
            {"limits": {"max_enqueue_rate": {"limit": 1, "period": "soon"}}},
            "limits.max_enqueue_rate.period", "invalid_request",
        ),
        (
            {"limits": {"max_enqueue_rate": {"limit": 1, "period": "PT1S", "burst": 2}}},
            "limits.max_enqueue_rate.burst", "invalid_request",
        ),
        ({"fairness_weight": 0}, "fairness_weight", "invalid_request"),
        ({"fairness_weight": "3"}, "fairness_weight", "invalid_request"),
        ({"isolation": "none"}, "isolation", "invalid_request"),
        ({"quota_mode": "firm"}, "quota_mode", "invalid_request"),
        ({"state": "gone"}, "state", "invalid_request"),
        ({"name": ""}, "name", "invalid_request"),
        ({"tenant_id": "red"}, "tenant_id", "invalid_request"),
        ({"color": "blue"}, "color", "invalid_request"),
    ],
)  # fmt: skip
@spec("MT-8.1-a")
def test_what_is_wrong_or_unknown_is_refused(body: dict[str, Any], field: str, code: str) -> None:
    error = put("blue", status=422, **body)["error"]

    assert (error["code"], error["details"]["field"]) == (code, field)
    assert not Tenant.objects.exists()


@pytest.mark.parametrize("name", ["-a", "_other", "a b", "x" * 256])
@spec("MT-5.2-a")
def test_tenants_are_called_by_the_pattern(name: str) -> None:
    put(name, status=404)


@pytest.mark.parametrize("nested", [True, False])
@spec("MT-9.3-a")
def test_limits_change_member_by_member_with_a_reason(nested: bool) -> None:
    put("blue", limits=LIMITS)
    change = {"max_concurrency": 5, "max_scheduled": None}
    sent = {"limits": change} if nested else change

    found = answer(send("PUT", "admin/tenants/blue/limits", {**sent, "reason": "incident"}))

    wanted = {**MIRRORED, **change, "max_concurrent_jobs": 5}
    assert found["limits"] == wanted == get("/blue")["limits"]
    entry = Audit.objects.get(action="tenant.limits_changed")
    assert (entry.target, entry.reason) == ("blue", "incident")
    assert entry.data["limits"] == {**change, "max_concurrent_jobs": 5}


@spec("MT-9.3-a")
def test_limits_that_cannot_be_are_refused() -> None:
    put("blue")

    for body, field in (
        ({"max_jobs": 1}, "max_jobs"),
        ({"limits": {"max_scheduled": 1}, "max_scheduled": 2}, "max_scheduled"),
        ({"reason": 7}, "reason"),
    ):
        error = answer(send("PUT", "admin/tenants/blue/limits", body), 422)["error"]
        assert error["details"]["field"] == field
    answer(send("PUT", "admin/tenants/red/limits", {"max_scheduled": 1}), 404)


@spec("MT-10.1-a")
def test_tenants_are_listed_by_page_state_and_text() -> None:
    for name in ("a", "b", "c"):
        put(name, name=f"{name} Ltd")
    put("b", status=200, name="Bee", state="suspended")
    push("c", queue="q")

    first, second = get("?per_page=2"), get("?per_page=2&page=2")

    assert [one["id"] for one in first["items"]] == ["_default", "a"]
    assert second["items"] == second["tenants"]
    assert [one["id"] for one in second["items"]] == ["b", "c"]
    assert (first["total"], first["pagination"]["has_more"]) == (4, True)
    assert second["items"][1]["stats"] == {
        "queues": 1, "jobs": {**ZEROS, "available": 1}, "workers": 0,
    }  # fmt: skip
    assert [one["id"] for one in get("?state=suspended")["items"]] == ["b"]
    assert [one["id"] for one in get("?q=ltd")["items"]] == ["a", "c"]


@spec("MT-10.1-a")
def test_default_tenant_is_always_listed_in_its_place() -> None:
    def listed(query: str = "") -> list[str]:
        found = get(f"?{query}")
        assert found["total"] == len(found["items"])
        return [one["id"] for one in found["items"]]

    assert listed() == ["_default"]
    push()
    for name in ("B", "a", "c"):
        put(name)
    whole = ["B", "_default", "a", "c"]

    assert listed() == whole
    assert get("?q=_default")["items"] == [get("/_default")["tenant"]]
    for size in (1, 2, 3):
        pages = [get(f"?per_page={size}&page={n}")["items"] for n in range(1, 6)]
        assert [one["id"] for page in pages for one in page] == whole
        assert max(map(len, pages)) == size
    assert listed("state=suspended") == listed("noisy=true") == []
    assert listed("state=active&noisy=false") == whole
    assert listed("q=a") == ["_default", "a"]
    assert listed("q=c") == ["c"]
    put("_default", name="All others")
    assert listed() == whole
    assert listed("q=others") == ["_default"]


@spec("MT-10.1-a")
def test_tenant_is_deleted_once_its_jobs_have_ended() -> None:
    put("blue", limits={"max_concurrency": 1}, fairness_weight=4)
    job = push("blue")

    error = answer(send("DELETE", "admin/tenants/blue"), 409)["error"]
    answer(send("DELETE", f"jobs/{job['id']}"))
    answer(send("DELETE", "admin/tenants/blue"), 204)

    assert (error["code"], error["details"]["jobs"]) == ("tenant_not_empty", 1)
    get("/blue", 404)
    assert Job.objects.get().tenant == "blue"
    assert get("/blue/stats")["total_jobs"] == 1


@spec("MT-10.1-a")
def test_tenant_is_deleted_by_force_with_what_waits_and_runs() -> None:
    jobs = [push("blue")["id"], push("blue")["id"], push("blue", pending=True)["id"]]
    answer(send("POST", "workers/fetch", {"queues": ["default"]}))

    answer(send("DELETE", "admin/tenants/blue?force=true"), 204)

    assert [state(one) for one in jobs] == [State.CANCELLED] * 3
    get("/blue", 404)


@spec("MT-10.1-a")
def test_default_and_static_tenants_cannot_be_deleted() -> None:
    Tenant.objects.create(id="fixed", source="static")

    for name in ("_default", "fixed"):
        assert answer(send("DELETE", f"admin/tenants/{name}"), 409)["error"]["code"] == (
            "x_tenant_kept"
        )


@spec("MT-10.2-a")
def test_stats_have_every_number_of_the_seed() -> None:
    put("blue", limits=LIMITS, fairness_weight=3)
    put("red")
    done, failed = push("blue")["id"], push("blue", options={"max_attempts": 5})["id"]
    for job_id in (done, failed):
        (job,) = answer(send("POST", "workers/fetch", {"queues": ["default"], "worker_id": "w"}))[
            "jobs"
        ]
        assert job["id"] == job_id
    answer(send("POST", "workers/ack", {"job_id": done}))
    error = {"code": "x", "message": "x"}
    answer(send("POST", "workers/nack", {"job_id": failed, "error": error}))
    for more in ({}, {}, {"scheduled_at": "2099-01-01T00:00:00Z"}):
        push("blue", **more)
    push("red", queue="other")
    answer(send("POST", "workers/fetch", {"queues": ["other"], "worker_id": "v"}))
    push("red", queue="other")
    aggregated()

    found = get("/blue/stats")

    assert found == {
        "tenant_id": "blue",
        "total_jobs": 5,
        "jobs": {
            **ZEROS, "available": 2, "scheduled": 1, "retryable": 1, "completed": 1,
            "completed_24h": 1, "failed_24h": 1,
        },
        "throughput": {"processed_per_minute": 0.2, "enqueued_per_minute": 1.0},
        "limits": {
            "max_concurrency": {"limit": 8, "current": 0},
            "max_enqueue_rate": {"limit": 300, "current": 5},
            "max_queue_depth": {"limit": 2500, "current": 3},
            "max_scheduled": {"limit": 400, "current": 1},
            "max_queues": {"limit": 9, "current": 1},
        },
        "fairness": {
            "weight": 3, "effective_weight": 3, "effective_share": 0.75, "actual_share": 0.6667,
        },
    }  # fmt: skip
    assert get("/red")["stats"]["workers"] == 1


@spec("MT-10.2-a")
def test_stats_of_nobody_are_not_found() -> None:
    get("/nobody/stats", 404)
    assert get("/_default/stats")["fairness"]["effective_share"] == 0


@spec("MT-10.3-a")
def test_jobs_of_a_tenant_are_listed() -> None:
    mine = [push("blue", queue="q")["id"] for _ in range(3)]
    push("red", queue="q")
    answer(send("DELETE", f"jobs/{mine[0]}"))

    listed = get("/blue/jobs?state=available&per_page=1&page=2&queue=q&type=tests.*")

    assert [job["id"] for job in listed["items"]] == [mine[1]]
    assert (listed["total"], listed["jobs"]) == (2, listed["items"])
    get("/green/jobs", 404)


@spec("MT-11.1-a")
def test_configured_tenant_is_told_once() -> None:
    put("blue")
    put("blue", status=200, fairness_weight=2)
    push("blue")

    assert event_data(Kind.TENANT_CREATED) == [{"tenant_id": "blue", "source": "dynamic"}]
    events = answer(send("GET", "events?type=tenant.created"))["events"]
    assert [event["data"]["tenant_id"] for event in events] == ["blue"]


@spec("contract 31")
def test_key_bound_to_a_tenant_reads_its_own_and_changes_none(new_key: Any) -> None:
    Tenant.objects.create(id="blue")
    Tenant.objects.create(id="red")
    blue = new_key(*SCOPES, tenant="blue")

    assert [one["id"] for one in get("", **blue)["items"]] == ["blue"]
    assert [one["id"] for one in get("", **new_key(*SCOPES, tenant="_default"))["items"]] == [
        "_default"
    ]
    for path in ("/blue", "/blue/stats", "/blue/jobs"):
        get(path, **blue)
    for path in ("/red", "/red/stats", "/red/jobs", "/nobody"):
        assert get(path, 403, **blue)["error"]["code"] == "tenant_mismatch"
    for method, path in (
        ("PUT", "blue"), ("PUT", "blue/limits"), ("DELETE", "blue"), ("POST", "blue/suspend"),
        ("POST", "blue/resume"), ("DELETE", "blue/throttle"),
    ):  # fmt: skip
        answer(send(method, f"admin/tenants/{path}", {}, **blue), 403)


@spec("contract 31")
def test_deletion_by_force_needs_the_scope_to_purge(new_key: Any) -> None:
    Tenant.objects.create(id="blue")
    writer = new_key("ojs:admin:write")

    answer(send("DELETE", "admin/tenants/blue?force=true", **writer), 403)
    answer(send("DELETE", "admin/tenants/blue", **writer), 204)
