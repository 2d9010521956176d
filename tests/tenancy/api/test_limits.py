"""Limits and states of tenants. Spec: MT 8, 15.5, contract 21.2, D-MT-14."""

from typing import Any

import pytest

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.record.events import Kind
from jobs.models import Job, Lane, Later
from jobs.services.lanes import lanes
from jobs.services.outcome.promote import promote
from tenancy.models import Enqueued
from tests.factories import FAR
from tests.spec import spec
from tests.tenancy.wire import answer, event_data, push, put, send

pytestmark = pytest.mark.usefixtures("store")

ONE = {"type": "tests.noop", "args": []}
MINUTE = {"limit": 3, "period": "PT1M"}


def limited(tenant: str = "blue", **limits: Any) -> None:
    """Configure a tenant's limits."""
    put(tenant, limits=limits)


def refused(tenant: str = "blue", **job: Any) -> dict[str, Any]:
    """Send a job that is refused and return the error."""
    return push(tenant, status=429, **job)


def batch(*tenants: str, status: int = 201) -> Any:
    """Send a batch with jobs of these tenants."""
    jobs = [{**ONE, "meta": {"tenant_id": one}} for one in tenants]
    return answer(send("POST", "jobs/batch", {"jobs": jobs}), status)


def fetched(count: int = 10, *queues: str, **headers: str) -> list[dict[str, Any]]:
    """Fetch and return the jobs."""
    sent = {"queues": list(queues or ("default",)), "count": count}
    found: list[dict[str, Any]] = answer(send("POST", "workers/fetch", sent, **headers))["jobs"]
    return found


@spec("MT-8.2-a")
def test_refusal_has_the_body_of_the_contract() -> None:
    limited(max_queue_depth=1)
    push("blue")

    response = send("POST", "jobs", {**ONE, "meta": {"tenant_id": "blue"}})

    error = answer(response, 429)["error"]
    assert response["Retry-After"] == "30"
    assert response["Content-Type"] == OJS_TYPE
    shown = ("code", "message", "retryable", "tenant_id", "limit", "current", "maximum")
    assert {name: error[name] for name in shown} == {
        "code": "TENANT_LIMIT_EXCEEDED",
        "message": "Tenant 'blue' has exceeded max_queue_depth (1)",
        "retryable": True,
        "tenant_id": "blue",
        "limit": "max_queue_depth",
        "current": 1,
        "maximum": 1,
    }


@spec("MT-8.1-b")
def test_concurrency_counts_over_all_queues() -> None:
    for queue in ("a", "b", "c"):
        for _ in range(2):
            push("blue", queue=queue)
    put("blue", status=200, limits={"max_concurrency": 2})

    assert len(fetched(10, "a", "b", "c")) == 2
    assert fetched(10, "a", "b", "c") == []
    answer(send("PUT", "admin/tenants/blue/limits", {"max_concurrency": 3}))
    assert len(fetched(10, "a", "b", "c")) == 1


@spec("MT-8.1-c")
def test_rate_counts_new_jobs_in_any_period() -> None:
    limited(max_enqueue_rate=MINUTE)
    jobs = [push("blue")["id"] for _ in range(3)]
    answer(send("DELETE", f"jobs/{jobs[0]}"))

    response = send("POST", "jobs", ONE, X_OJS_Tenant="blue")

    error = answer(response, 429)["error"]
    assert (error["limit"], error["current"], error["maximum"]) == ("max_enqueue_rate", 3, 3)
    assert 1 <= int(response["Retry-After"]) <= 60
    assert sum(Enqueued.objects.values_list("jobs", flat=True)) == 3
    push("red")


@spec("MT-8.1-c")
def test_room_comes_back_when_the_period_is_over() -> None:
    limited(max_enqueue_rate=MINUTE)
    batch(*["blue"] * 3)
    Enqueued.objects.update(at="2020-01-01T00:00:00Z", slot="2020-01-01T00:00:00Z")

    push("blue")

    assert list(Enqueued.objects.values_list("jobs", flat=True)) == [1]


@spec("MT-8.1-d")
def test_pending_jobs_need_room_when_they_are_sent_and_take_none() -> None:
    limited(max_queue_depth=2)
    held = [push("blue", options={"pending": True})["id"] for _ in range(3)]
    push("blue")
    push("blue")

    assert refused(options={"pending": True})["current"] == 2
    assert answer(send("POST", f"jobs/{held[0]}/activate"))["job"]["state"] == "available"
    assert refused()["current"] == 3  # ACTIVATE checks no limit: docs/tenancy.md


@spec("MT-8.1-d")
def test_depth_counts_available_and_scheduled() -> None:
    limited(max_queue_depth=5)
    for more in ({}, {}, {}, {"scheduled_at": FAR}, {"scheduled_at": FAR, "queue": "other"}):
        push("blue", **more)

    assert refused()["current"] == 5
    (job,) = fetched(1)
    push("blue")
    answer(send("POST", "workers/ack", {"job_id": job["id"]}))
    refused()


@spec("MT-8.1-e")
def test_scheduled_are_bounded_and_immediate_ones_pass() -> None:
    limited(max_scheduled=1)
    push("blue", scheduled_at=FAR)

    error = refused(scheduled_at=FAR)

    assert (error["limit"], error["current"], error["maximum"]) == ("max_scheduled", 1, 1)
    assert refused(scheduled_at="+PT1H")["limit"] == "max_scheduled"
    push("blue")
    push("blue", scheduled_at="2020-01-01T00:00:00Z")


@spec("MT-8.1-a")
def test_queues_with_jobs_that_have_not_ended_are_bounded() -> None:
    limited(max_queues=2)
    first = push("blue", queue="a")["id"]
    push("blue", queue="b", scheduled_at=FAR)

    error = refused(queue="c")

    assert (error["limit"], error["current"], error["maximum"]) == ("max_queues", 2, 2)
    push("blue", queue="a")
    push("red", queue="c")
    fetched(1, "a")
    refused(queue="c")
    answer(send("POST", "workers/ack", {"job_id": first}))
    refused(queue="c")
    answer(send("DELETE", f"jobs/{fetched(1, 'a')[0]['id']}"))
    push("blue", queue="c")
    used = answer(send("GET", "admin/tenants/blue/stats"))["limits"]
    assert used == {"max_queues": {"limit": 2, "current": 2}}


@spec("MT-8.1-a")
def test_queues_of_a_batch_fit_as_a_whole_and_of_a_bulk_one_by_one() -> None:
    limited(max_queues=2)
    jobs = [
        {**ONE, "meta": {"tenant_id": "blue"}, "options": {"queue": queue}} for queue in "abacb"
    ]

    error = answer(send("POST", "jobs/batch", {"jobs": jobs}), 429)["error"]
    assert (error["limit"], error["current"], error["details"]["index"]) == ("max_queues", 0, 3)
    answer(send("POST", "jobs/bulk", {"jobs": jobs, "atomic": False}), 207)

    assert sorted(Job.objects.values_list("queue", flat=True)) == ["a", "a", "b", "b"]


@spec("MT-8.1-f")
def test_weight_of_a_tenant_shares_its_queues() -> None:
    push("blue", queue="before")
    put("blue", status=200, fairness_weight=3)
    for tenant in ("blue", "red"):
        batch(*[tenant] * 8)

    taken = [fetched(1)[0]["meta"]["tenant_id"] for _ in range(8)]

    assert (taken.count("blue"), taken.count("red")) == (6, 2)
    assert set(Lane.objects.filter(tenant="blue").values_list("weight", flat=True)) == {3.0}
    put("blue", status=200)
    assert set(Lane.objects.values_list("weight", flat=True)) == {1.0}


@spec("MT-8.1-f")
def test_weight_in_a_pool_counts_before_the_tenants_and_its_default_after() -> None:
    for tenant in ("blue", "red", "green"):
        push(tenant)
    put("blue", status=200, fairness_weight=3)
    put("red", status=200, fairness_weight=4)
    fairness = {"weights": {"blue": 1}, "default_weight": 9}
    pool = {"queues": ["default"], "tenant_fairness": fairness}
    answer(send("PUT", "admin/pools/p", pool), 201)
    push("new")

    def weights() -> dict[str, float]:
        return dict(Lane.objects.values_list("tenant", "weight"))

    assert weights() == {"blue": 1.0, "red": 4.0, "green": 9.0, "new": 9.0}
    answer(send("DELETE", "admin/pools/p"), 204)
    assert weights() == {"blue": 3.0, "red": 4.0, "green": 1.0, "new": 1.0}


@spec("MT-8.2")
def test_batch_that_does_not_fit_is_refused_as_a_whole() -> None:
    limited(max_queue_depth=3)
    batch("blue", "blue")

    error = batch("blue", "red", "blue", status=429)["error"]

    assert (error["current"], error["maximum"]) == (2, 3)
    assert Job.objects.count() == 2
    batch("blue", "red")


@spec("MT-8.2")
def test_bulk_stores_as_many_as_fit() -> None:
    limited(max_queue_depth=3)
    jobs = [{**ONE, "meta": {"tenant_id": "blue"}} for _ in range(5)]

    answer(send("POST", "jobs/bulk", {"jobs": jobs, "atomic": False}), 207)

    assert Job.objects.count() == 3


@spec("MT-8.2")
def test_duplicates_need_no_room() -> None:
    limited(max_queue_depth=1, max_enqueue_rate=MINUTE)
    unique = {"unique": {"on_conflict": "ignore"}}
    push("blue", **unique)

    sent = {**ONE, "meta": {"tenant_id": "blue"}, **unique}
    assert answer(send("POST", "jobs", sent), 200)["deduplicated"]

    assert sum(Enqueued.objects.values_list("jobs", flat=True)) == 1


@spec("MT-15.1-b")
def test_change_counts_for_the_next_request() -> None:
    push("blue")
    limited_body = {"limits": {"max_queue_depth": 1}}
    answer(send("PUT", "admin/tenants/blue", limited_body))
    refused()
    answer(send("PUT", "admin/tenants/blue/limits", {"max_queue_depth": None}))
    push("blue")


@spec("MT-15.3-b")
def test_default_tenant_has_limits_like_others() -> None:
    limited("_default", max_queue_depth=1)
    push()

    error = push(status=429)

    assert error["tenant_id"] == "_default"


@spec("MT-15.5-a")
def test_refusal_of_a_hard_quota_is_told() -> None:
    limited(max_queue_depth=0)

    refused()

    assert event_data(Kind.TENANT_LIMIT_EXCEEDED) == [
        {
            "tenant_id": "blue", "limit": "max_queue_depth", "current": 0, "maximum": 0,
            "mode": "hard",
        }
    ]  # fmt: skip


@spec("MT-15.5-b")
def test_soft_quota_takes_the_job_and_tells() -> None:
    put("blue", limits={"max_queue_depth": 0, "max_enqueue_rate": MINUTE}, quota_mode="soft")

    for _ in range(4):
        push("blue")

    found = event_data(Kind.TENANT_LIMIT_EXCEEDED)
    assert {one["mode"] for one in found} == {"soft"}
    limits = [one["limit"] for one in found]
    assert limits == ["max_queue_depth"] * 3 + ["max_enqueue_rate", "max_queue_depth"]


@spec("D-MT-14")
def test_promotion_and_retry_need_no_room() -> None:
    push("blue", scheduled_at=FAR)
    running = push("blue", options={"retry": {"initial_interval": "PT1S"}})["id"]
    fetched(1)
    limited_body = {"limits": {"max_queue_depth": 0, "max_scheduled": 0}}
    answer(send("PUT", "admin/tenants/blue", limited_body))
    error = {"code": "x", "message": "x"}
    answer(send("POST", "workers/nack", {"job_id": running, "error": error}))
    Later.objects.update(due_at="2020-01-01T00:00:00Z")

    promote()

    assert answer(send("GET", "jobs?state=available"))["total"] == 2


@spec("contract 21.4")
def test_suspended_tenant_enqueues_nothing_and_starts_nothing() -> None:
    job = push("blue")["id"]
    push("red")
    reason = {"reason": "unpaid"}

    assert answer(send("POST", "admin/tenants/blue/suspend", reason))["state"] == "suspended"
    lanes.clear_cache()

    error = push("blue", status=403)
    assert (error["code"], error["details"]["tenant_id"]) == ("tenant_suspended", "blue")
    assert [one["meta"]["tenant_id"] for one in fetched()] == ["red"]
    explained = answer(send("GET", f"admin/jobs/{job}/explain"))
    gate = next(one for one in explained["gates"] if one["gate"] == "suspension")
    assert (gate["state"], gate["name"]) == ("closed", "blue")
    assert explained["eligible"] is False
    # the suspension is the cause, not the limit by which a claim enforces it
    assert explained["message"].startswith("Tenant blue is suspended: its jobs start when")
    limit = next(one for one in explained["gates"] if one["gate"] == "limit")
    assert limit["message"] == "Limit tenant:blue: it lets no job start."
    assert answer(send("POST", "admin/tenants/blue/resume"))["state"] == "active"
    assert [one["id"] for one in fetched()] == [job]


@spec("contract 21.4")
def test_suspension_keeps_the_limit_for_later() -> None:
    limited(max_concurrency=1)
    batch("blue", "blue")
    answer(send("POST", "admin/tenants/blue/suspend"))
    assert fetched() == []

    answer(send("POST", "admin/tenants/blue/resume"))

    assert len(fetched()) == 1


@spec("MT-11.1-a")
def test_a_tenant_that_reaches_its_concurrency_is_told_of() -> None:
    limited(max_concurrency=1)
    for _ in range(3):
        push("blue")

    assert len(fetched()) == 1
    assert fetched() == []

    assert event_data(Kind.TENANT_LIMIT_EXCEEDED) == [
        {
            "tenant_id": "blue",
            "limit": "max_concurrency",
            "current": 1,
            "maximum": 1,
            "mode": "hard",
        }
    ]
    assert not event_data(Kind.LIMIT_EXCEEDED)  # this event is for limits of queues, types and keys


@spec("MT-11.1-a")
def test_a_suspended_tenant_has_not_reached_a_limit() -> None:
    push("blue")
    answer(send("POST", "admin/tenants/blue/suspend", {}))

    assert fetched() == []

    assert not event_data(Kind.TENANT_LIMIT_EXCEEDED)
    assert not event_data(Kind.LIMIT_EXCEEDED)
