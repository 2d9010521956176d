"""Explanations over HTTP: gates, position, estimate and decision. Spec: contract 20.5."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import WAITING, State
from jobs.domain.wire.ids import new_id
from jobs.models import Event, Job, Lane, Later, Period, Queue, Ready, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from tests.factories import DraftFactory, JobFactory, stored, stored_ids
from tests.jobs.api.refusals import DOCUMENT, validator
from tests.spec import spec

ANSWER = validator({"$ref": "#/components/schemas/Explanation"})
Keys = Callable[..., dict[str, str]]


def explained(api: Client, job_id: str, **headers: str) -> dict[str, Any]:
    answer = api.get(f"/ojs/v1/admin/jobs/{job_id}/explain", headers=headers)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    ANSWER.validate(found)
    return found


def gate(found: dict[str, Any], gate: str) -> dict[str, Any]:
    """Return the only gate with this name."""
    (one,) = [one for one in found["gates"] if one["gate"] == gate]
    return dict(one)


def closed(found: dict[str, Any]) -> list[str]:
    return [one["gate"] for one in found["gates"] if one["state"] == "closed"]


def of_tenant(tenant: str, number: int, **envelope: Any) -> list[str]:
    draft = DraftFactory.create(**envelope)
    jobs = enqueue([replace(draft, id=new_id(), tenant=tenant) for _ in range(number)])
    return [job.id for job in jobs if job is not None]


def serve(queue: str = "default", **facts: Any) -> None:
    """Report a worker that fetches this queue."""
    heartbeat(Report("w1", queues=(queue,), **facts))


def test_job_that_nothing_holds_is_next(api: Client) -> None:
    serve()
    job_id = stored_ids(1)[0]

    found = explained(api, job_id)

    assert (found["verdict"], found["eligible"], found["state"]) == ("next", True, "available")
    assert closed(found) == []
    assert found["position"] == {
        "lane": {"ahead": 0, "is_lower_bound": False},
        "queue": {"ahead": 0, "is_lower_bound": False},
        "next": True,
    }
    assert found["decision"] is None
    assert gate(found, "worker")["numbers"]["serving"] == 1


def test_place_counts_the_lane_and_what_fairness_puts_before(api: Client) -> None:
    serve()
    mine = of_tenant("north", 5)[4]
    of_tenant("south", 3)
    stored(2, priority=9)

    found = explained(api, mine)

    assert found["position"]["lane"]["ahead"] == 4
    assert found["position"]["queue"] == {"ahead": 4 + 3 + 2, "is_lower_bound": False}
    assert found["position"]["next"] is False
    assert found["message"] == "Nothing holds it back: 9 jobs come before it."


def test_place_of_a_fair_lane_is_not_behind_all_of_a_loud_one(api: Client) -> None:
    of_tenant("loud", 500)
    mine = of_tenant("quiet", 1)[0]

    ahead = explained(api, mine)["position"]["queue"]["ahead"]

    taken = [job.id for _ in range(ahead + 1) for job in fetch(FetchRequest(("default",))).jobs]
    assert ahead <= 1
    assert taken[-1] == mine


def test_expired_jobs_are_not_counted(api: Client) -> None:
    first, second = stored_ids(2)
    Ready.objects.filter(id=first).update(expires_at=ago(1000))

    assert explained(api, second)["position"]["queue"]["ahead"] == 0


def test_place_is_a_lower_bound_beyond_what_is_counted(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.services.dispatch.explain.MOST", 3)
    ids = stored_ids(6)
    others = stored_ids(6, priority=5)

    last = explained(api, ids[5])["position"]

    assert last["lane"] == {"ahead": 3, "is_lower_bound": True}
    assert last["queue"]["is_lower_bound"] is True
    assert explained(api, others[2])["position"]["lane"] == {"ahead": 2, "is_lower_bound": False}
    assert explained(api, ids[0])["position"]["queue"] == {"ahead": 3, "is_lower_bound": True}


def test_paused_queue(api: Client) -> None:
    job_id = stored_ids(1, queue="mail")[0]
    serve("mail")
    pause("mail")

    found = explained(api, job_id)

    assert (found["verdict"], closed(found)) == ("held", ["queue"])
    assert gate(found, "queue")["since"] is not None
    assert found["message"] == "Queue mail is paused: resume it to let its jobs start."
    assert found["position"]["next"] is False
    assert found["estimate"]["starts_at"] is None
    assert found["estimate"]["reason"].endswith("gate queue")


def test_queue_that_drains_or_is_gone(api: Client) -> None:
    job_id = stored_ids(1, queue="mail")[0]
    Queue.objects.update(draining=True)
    assert "takes no new jobs" in gate(explained(api, job_id), "queue")["message"]

    Queue.objects.all().delete()

    assert closed(explained(api, job_id)) == ["queue", "worker"]


def test_maintenance_tells_its_end_and_reason(api: Client) -> None:
    serve()
    job_id = stored_ids(1)[0]
    maintenance.start(Caller("test"), reason="new disks", duration_ms=60_000)

    found = explained(api, job_id)

    assert closed(found) == ["maintenance"]
    assert "new disks" in found["message"]
    assert gate(found, "maintenance")["until"] > found["at"]


def test_limits_of_key_queue_and_tenant_are_told_apart(api: Client) -> None:
    configure("default", {"concurrency": 2})
    ids = stored_ids(3, rate_limit={"key": "disk", "concurrency": 1})
    lanes.set_weight_and_cap("_default", weight=1, cap=9)
    fetch(FetchRequest(("default",)))

    found = explained(api, ids[2])

    limits = {one["name"]: one for one in found["gates"] if one["gate"] == "limit"}
    assert list(limits) == ["queue:default", "disk", "tenant:_default"]
    assert {name: one["state"] for name, one in limits.items()} == {
        "queue:default": "open", "disk": "closed", "tenant:_default": "open",
    }  # fmt: skip
    assert limits["disk"]["numbers"] == {"room": 0, "active": 1, "concurrency": 1}
    assert limits["disk"]["message"].startswith("Limit disk: 1 of its jobs run, 1 may;")
    assert limits["disk"]["until"] is None


@pytest.mark.parametrize(
    ("limit", "numbers", "words"),
    [
        (
            {"rate": {"limit": 1, "period": "PT1H"}},
            {"room": 0, "started": 1, "rate": 1, "rate_ms": 3_600_000},
            "1 of its jobs started in 3600 s",
        ),
        (
            {"throttle": {"limit": 2, "period": "PT1H"}},
            {"room": 0, "throttle": 2, "throttle_ms": 3_600_000},
            "at least 1800 s apart",
        ),
    ],
)
def test_limit_of_starts_tells_when_there_is_room(
    api: Client, limit: dict[str, Any], numbers: dict[str, int], words: str
) -> None:
    serve()
    ids = stored_ids(2, rate_limit={"key": "k", **limit})
    fetch(FetchRequest(("default",)))

    for blocked in (False, True):  # before a claim has marked the lane as blocked, and after
        found = explained(api, ids[1])
        told = gate(found, "limit")
        assert (told["state"], told["numbers"]) == ("closed", numbers)
        assert words in told["message"]
        assert told["until"] > found["at"]
        assert found["estimate"]["is_lower_bound"] is (found["estimate"]["reason"] is None)
        assert Lane.objects.filter(blocked_by=None).exists() is not blocked
        assert fetch(FetchRequest(("default",))).jobs == []


def test_lane_that_is_held(api: Client) -> None:
    job_id = stored_ids(1)[0]
    serve()
    lanes.set_paused([Lane.objects.get().id], paused=True)

    assert closed(explained(api, job_id)) == ["lane"]


def test_lane_that_is_not_offered_by_mistake(api: Client) -> None:
    job_id = stored_ids(1)[0]
    serve()
    Lane.objects.update(active=False)

    found = explained(api, job_id)

    assert closed(found) == ["lane"]
    assert "repairs" in gate(found, "lane")["message"]


@pytest.mark.parametrize(
    ("state", "name"),
    [(State.SCHEDULED, "schedule"), (State.RETRYABLE, "retry"), (State.PENDING, "activation")],
)
def test_job_that_is_not_available_yet(api: Client, state: State, name: str) -> None:
    job = JobFactory.create(state=state)
    serve()

    found = explained(api, job.id)

    assert (closed(found), found["position"], found["eligible"]) == ([name], None, False)
    due = gate(found, name)["until"]
    assert (due is None) is (state is State.PENDING)
    assert found["estimate"]["starts_at"] == due
    assert found["estimate"]["is_lower_bound"] is (due is not None)


def test_job_that_is_due_and_not_promoted(api: Client) -> None:
    job = JobFactory.create(state=State.SCHEDULED)
    Later.objects.update(due_at=ago(1000))
    serve()

    found = explained(api, job.id)

    assert (found["verdict"], found["eligible"], closed(found)) == ("held", False, [])
    assert found["message"] == "It is due and becomes available in a moment."


def test_expiry_before_and_after(api: Client) -> None:
    serve()
    job = JobFactory.create(expires_at="+PT1H")
    before = gate(explained(api, job.id), "expiry")
    for model in (Job, Ready):
        model.objects.update(expires_at=ago(1000))

    after = explained(api, job.id)

    assert (before["state"], closed(after)) == ("open", ["expiry"])
    assert before["until"] > after["at"]


def test_worker_gate_knows_served_unknown_and_unserved_queues(api: Client) -> None:
    job_id = stored_ids(1, queue="mail")[0]
    states = []

    def look() -> None:
        found = gate(explained(api, job_id), "worker")
        states.append((found["state"], found["enforced"]))

    look()
    serve("other")
    look()
    fetch(FetchRequest(("other",), worker_id="w2"))  # a worker that reported nothing about itself
    look()
    Worker.objects.filter(id="w2").delete()
    serve("mail")
    look()
    serve("mail", standing=Standing.QUIET)
    look()

    assert [state for state, _ in states] == ["closed", "closed", "unknown", "open", "closed"]
    assert not any(enforced for _, enforced in states)
    found = explained(api, job_id)
    assert (found["verdict"], found["eligible"]) == ("unserved", True)
    assert found["message"].endswith("Its workers are quiet or about to end.")


def test_estimate_goes_by_what_the_queue_starts(api: Client) -> None:
    serve()
    ids = stored_ids(10)
    unknown = explained(api, ids[9])["estimate"]
    Period.objects.create(
        span_s=60, at=timezone.now().replace(second=0, microsecond=0),
        queue="default", type="x", started=10,
    )  # fmt: skip

    found = explained(api, ids[9])["estimate"]

    assert unknown["starts_at"] is None
    assert unknown["reason"] == "no job of its queue has started lately"
    assert (found["jobs_per_minute"], found["reason"]) == (2.0, None)
    assert found["wait_ms"] == pytest.approx(5 * 60_000, abs=50)
    Period.objects.all().delete()


def test_active_job_tells_what_picked_it(api: Client) -> None:
    configure("mail", {"concurrency": 3})
    job_id = stored_ids(1, queue="mail", priority=4)[0]
    fetch(FetchRequest(("mail",), worker_id="w7", visibility_ms=60_000))

    found = explained(api, job_id)

    assert (found["verdict"], found["gates"], found["position"]) == ("active", [], None)
    assert found["estimate"] is None
    decision = found["decision"]
    assert decision["waited_ms"] >= 0
    started, until = (
        datetime.fromisoformat(decision.pop(name)) for name in ("started_at", "lease_until")
    )
    assert until - started == timedelta(minutes=1)
    assert started <= datetime.now(UTC)
    decision.pop("waited_ms")
    assert decision == {
        "attempt": 1, "worker_id": "w7", "pool": None, "queue": "mail", "tenant_id": "_default",
        "priority": 4, "route": 0, "limits": ["queue:mail"],
    }  # fmt: skip


@pytest.mark.parametrize("state", [State.COMPLETED, State.DISCARDED])
def test_ended_job_tells_what_picked_it(api: Client, state: State) -> None:
    job = JobFactory.create(state=state, worker_id=None)

    found = explained(api, job.id)
    Event.objects.all().delete()  # as retention deletes events
    later = explained(api, job.id)

    assert (found["verdict"], found["decision"]["attempt"]) == ("ended", 1)
    assert found["decision"]["lease_until"] is None
    assert later["decision"]["started_at"] == found["decision"]["started_at"]


def test_job_that_ended_without_an_attempt(api: Client) -> None:
    found = explained(api, JobFactory.create(state=State.CANCELLED).id)

    assert (found["verdict"], found["decision"]) == ("ended", None)
    assert found["message"] == "It has ended: cancelled. No attempt of it has started."


@spec("contract 31.3")
def test_key_of_a_tenant_sees_its_jobs_alone_and_no_numbers_of_others(
    api: Client, new_key: Keys
) -> None:
    configure("default", {"concurrency": 2})
    other = of_tenant("south", 3)[0]
    mine = of_tenant("north", 2, rate_limit={"key": "k", "concurrency": 5})[1]
    fetch(FetchRequest(("default",), count=2))
    headers = new_key("ojs:admin:read", tenant="north")

    found = explained(api, mine, **headers)

    path = f"/ojs/v1/admin/jobs/{other}/explain"
    assert api.get(path, headers=headers).status_code == 404
    assert found["position"]["queue"] is None
    assert found["estimate"]["jobs_per_minute"] is None
    assert gate(found, "worker")["numbers"] == {}
    shared, own = (one for one in found["gates"] if one["gate"] == "limit")
    assert (shared["name"], shared["state"], shared["numbers"]) == ("queue:default", "closed", {})
    assert shared["message"] == "Limit queue:default: it is reached."
    assert own["numbers"]["concurrency"] == 5


@pytest.mark.parametrize("job_id", ["x", "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"])
def test_unknown_job_is_not_found(api: Client, job_id: str) -> None:
    assert api.get(f"/ojs/v1/admin/jobs/{job_id}/explain").status_code == 404


@pytest.mark.parametrize("state", State)
def test_explanation_takes_a_fixed_number_of_statements(api: Client, state: State) -> None:
    job = JobFactory.create(state=state)
    stored(20)

    with CaptureQueriesContext(connection) as captured:
        explained(api, job.id)

    # waiting jobs take three more statements: pools, tenant and accepted versions
    assert len(captured) == 2 + 3 * (state in WAITING)


def test_every_member_is_documented() -> None:
    described = DOCUMENT["components"]["schemas"]
    for name in ("Explanation", "Gate"):
        assert set(described[name]["required"]) == set(described[name]["properties"])
