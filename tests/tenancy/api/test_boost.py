"""Boosts: a tenant's offset to the priorities of all its jobs. Spec: MT 8.1, contract 20.5."""

from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from jobs.models import Audit, Job, Lane, Later, Ready
from jobs.services.outcome.promote import promote
from tests.spec import spec
from tests.tenancy.wire import answer, push, put, send

pytestmark = pytest.mark.usefixtures("store")


def boost(tenant: str, by: int, **more: Any) -> None:
    """Configure the boost of a tenant, new or not."""
    put(tenant, status=answer_status(tenant), priority_boost=by, **more)


def answer_status(tenant: str) -> int:
    """Return the status that a PUT of the tenant has: 200 if it exists, else 201."""
    return 200 if send("GET", f"admin/tenants/{tenant}").status_code == 200 else 201


def many(number: int, tenant: str, **job: Any) -> None:
    """Enqueue equal jobs of a tenant."""
    one = {"type": "tests.noop", "args": [], "meta": {"tenant_id": tenant}, **job}
    answer(send("POST", "jobs/batch", {"jobs": [one] * number}), 201)


def fetched(count: int = 1, *queues: str, **more: Any) -> list[dict[str, Any]]:
    """Fetch jobs."""
    sent = {"queues": list(queues or ("default",)), "count": count, **more}
    found: list[dict[str, Any]] = answer(send("POST", "workers/fetch", sent))["jobs"]
    return found


def whose(count: int, *queues: str, **more: Any) -> list[str]:
    """Fetch jobs; return their tenants."""
    return [job["meta"]["tenant_id"] for job in fetched(count, *queues, **more)]


def one_by_one(number: int) -> list[str]:
    """Fetch `number` times, one job each; return their tenants."""
    return [tenant for _ in range(number) for tenant in whose(1)]


def gate(job: dict[str, Any]) -> dict[str, Any]:
    """Return the gate `lane` of a waiting job's explanation."""
    said = answer(send("GET", f"admin/jobs/{job['id']}/explain"))
    found: dict[str, Any] = next(one for one in said["gates"] if one["gate"] == "lane")
    return found


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "while they wait"])
@spec("MT-8.1-f")
def test_boost_10_makes_prio_0_win_over_prio_5_of_another_tenant(is_first: bool) -> None:
    if is_first:
        boost("blue", 10)
    push("red", priority=5)
    mine = push("blue")
    if not is_first:
        boost("blue", 10)

    first, second = fetched(2)

    assert (first["id"], first["priority"]) == (mine["id"], 0)
    assert second["priority"] == 5
    assert answer(send("GET", f"jobs/{mine['id']}"))["priority"] == 0


@spec("MT-8.1-f")
def test_what_waits_follows_every_change_of_the_boost_and_no_job_is_written() -> None:
    many(9, "blue")
    many(9, "red", priority=5)
    before = list(Ready.objects.order_by("id").values_list("id", "lane_id", "seq"))

    for by, first in ((10, "blue"), (0, "red"), (6, "blue"), (-3, "red"), (7, "blue")):
        boost("blue", by)
        assert whose(2) == [first, first]

    left = set(Ready.objects.values_list("id", "lane_id", "seq"))
    assert left < set(before)
    assert set(Job.objects.values_list("priority", flat=True)) == {0, 5}


@spec("MT-8.1-f")
def test_order_of_the_tenants_own_jobs_stays() -> None:
    boost("blue", 10)
    for priority in (-4, 7, 0):
        push("blue", priority=priority)

    assert [job["priority"] for job in fetched(3)] == [7, 0, -4]


@spec("MT-8.1-f")
def test_tenants_share_at_the_priority_that_counts() -> None:
    boost("blue", 5)
    many(20, "blue")
    many(20, "red", priority=5)

    found = one_by_one(20)

    assert (found.count("blue"), found.count("red")) == (10, 10)


@pytest.mark.parametrize("ahead", ["blue", "red"])
@spec("MT-8.1-f")
def test_lane_joins_its_new_equals_at_their_present_virtual_time(ahead: str) -> None:
    many(60, "blue")
    many(60, "red", priority=5 if ahead == "red" else -5)
    whose(40)
    boost("blue", 5 if ahead == "red" else -5)

    found = one_by_one(20)

    assert (found.count("blue"), found.count("red")) == (10, 10)


@pytest.mark.parametrize(("by", "own", "other"), [(200, -100, 100), (-200, 100, -100)])
@spec("contract 20.5")
def test_priority_that_counts_ends_at_100(by: int, own: int, other: int) -> None:
    boost("blue", by)
    many(2, "blue", priority=own)
    many(2, "red", priority=other)

    assert sorted(one_by_one(2)) == ["blue", "red"]
    assert set(Lane.objects.values_list("rank", flat=True)) == {-other}


@spec("contract 20.5")
def test_boost_counts_where_priorities_compete_over_all_queues() -> None:
    answer(send("PUT", "admin/scheduling/config", {"priority_scope": "global"}))
    push("red", queue="a", priority=5)
    push("blue", queue="b")
    boost("blue", 10)

    assert [job["queue"] for job in fetched(2, "a", "b")] == ["b", "a"]


@spec("contract 20.5")
def test_boost_counts_where_the_oldest_is_next() -> None:
    fairness = {"tenant_fairness": {"enabled": False}}
    answer(send("PUT", "admin/scheduling/config", fairness))
    many(2, "red", priority=5)
    many(2, "blue")
    boost("blue", 5)
    assert whose(3) == ["red", "red", "blue"]  # equal ranks now, the oldest job first

    push("red", priority=5)
    boost("blue", 6)
    assert whose(2) == ["blue", "red"]


@spec("contract 20.5")
def test_boost_counts_when_a_retry_is_due() -> None:
    boost("blue", 10)
    job = push("blue", retry={"max_attempts": 3, "initial_interval": "PT1H"})
    fetched()
    error = {"code": "handler_error", "message": "no", "retryable": True}
    answer(send("POST", "workers/nack", {"job_id": job["id"], "error": error}))
    push("red", priority=5)
    assert Later.objects.update(due_at=Now()) == 1
    promote()

    assert whose(1) == ["blue"]


@spec("contract 20.5")
def test_boost_counts_in_a_fetch_of_the_tenant_alone() -> None:
    many(2, "blue")
    boost("blue", 10)
    many(2, "red")

    sent = {"queues": ["default"], "count": 4}
    found = answer(send("POST", "workers/fetch", sent, X_OJS_Tenant="blue"))["jobs"]

    assert [job["meta"]["tenant_id"] for job in found] == ["blue", "blue"]


@spec("MT-8.1-f")
def test_boost_and_changed_priority_add_up() -> None:
    boost("blue", 10)
    job = push("blue")
    push("red", priority=20)
    answer(send("PATCH", f"admin/jobs/{job['id']}", {"priority": 11}))

    assert fetched()[0]["id"] == job["id"]


@spec("contract 24")
def test_explanation_tells_the_priority_that_counts() -> None:
    job, other = push("blue"), push("red", priority=5)
    assert gate(job)["numbers"] == {"priority": 0}
    boost("blue", 10)

    said = gate(job)

    assert said["numbers"] == {"priority": 0, "boost": 10, "effective_priority": 10}
    assert said["message"] == (
        "Its lane is not held. Its priority counts as 10: its tenant has a boost."
    )
    assert gate(other)["numbers"] == {"priority": 5}
    places = [
        answer(send("GET", f"admin/jobs/{one['id']}/explain"))["position"] for one in (job, other)
    ]
    assert [place["next"] for place in places] == [True, False]


@spec("MT-8.1-f")
def test_boost_is_shown_audited_and_ends_with_the_configuration() -> None:
    push("blue")
    made = put("blue", status=200, priority_boost=7)

    assert (made["priority_boost"], made["tenant"]["priority_boost"]) == (7, 7)
    assert put("blue", status=200, **made)["priority_boost"] == 7
    entry = Audit.objects.filter(action="tenant.configured").latest("at")
    assert entry.data["priority_boost"] == 7
    assert Lane.objects.get().rank == -7
    assert put("blue", status=200)["priority_boost"] == 0
    assert Lane.objects.get().rank == 0
    put("blue", status=200, priority_boost=7)
    fetched()
    answer(send("POST", "workers/ack", {"job_id": str(Job.objects.get().id)}))
    answer(send("DELETE", "admin/tenants/blue"), 204)
    assert Lane.objects.get().boost == 0


@pytest.mark.parametrize("wrong", [201, -201, 1.5, "10", True, False, [], 1e30])
@spec("MT-8.1-f")
def test_boost_that_is_no_integer_or_too_far_is_refused(wrong: Any) -> None:
    error = put("blue", status=422, priority_boost=wrong)["error"]

    assert error["code"] == "invalid_request"
    assert error["details"]["field"] == "priority_boost"


@spec("MT-8.1-f")
def test_boost_and_weight_change_apart() -> None:
    push("blue")
    put("blue", status=200, priority_boost=3, fairness_weight=2)
    Lane.objects.update(vt=F("vt") + 9)
    put("blue", status=200, priority_boost=3, fairness_weight=4)

    lane = Lane.objects.get()

    assert (lane.rank, lane.weight, lane.vt) == (-3, 4, 9)
