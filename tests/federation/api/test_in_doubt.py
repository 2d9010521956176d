"""The hosted router and jobs in doubt. Spec: contract 23.3, ADR 19."""

from collections.abc import Callable
from typing import Any

import pytest

from federation.domain.doubts import Outcome
from federation.domain.meta import IN_DOUBT
from federation.models import Doubt, FederationKey, Placement
from federation.services.registry import regions
from federation.services.registry.configure import put_region
from federation.services.replication.doubts import DoubtResolver
from jobs.domain.record.events import Kind
from jobs.domain.wire.ids import new_id
from jobs.models import Job
from jobs.services.outcome.cancel import end
from tests.concurrency import until
from tests.federation.stub import Stub, refusal
from tests.federation.wire import answer, event_data, federate, job, place, send

pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]
NOON = "2026-05-04T12:00:00.000Z"
LATER = "2126-05-04T12:00:00.000Z"
CANCELLED = 7


@pytest.fixture(autouse=True)
def is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this server healthy; without its loops it is not."""
    monkeypatch.setattr("jobs.services.health.health.Health.is_well", property(lambda _self: True))


@pytest.fixture
def eu(stubs: Stubs) -> Stub:
    return stubs("eu")[0]


def claim(federation_id: str, **members: Any) -> dict[str, Any]:
    """Return a claim of eu for a later job."""
    return {
        "federation_id": federation_id, "tenant_id": "_default", "job_id": new_id(),
        "enqueued_at": LATER, "started": False, **members,
    }  # fmt: skip


def give_up(*claims: dict[str, Any], status: int = 200, region: str = "eu") -> Any:
    """Send a request to give up jobs."""
    body = {"region": region, "jobs": list(claims)}
    found = answer(send("POST", "federation/give-up", body), status)
    return found["results"] if status == 200 else found["error"]


def is_cancelled(job_id: str) -> bool:
    """Return whether a job was cancelled."""
    return bool(Job.objects.get(id=job_id).state == CANCELLED)


def taken(federation_id: str) -> dict[str, Any]:
    """Store a job here as a router sends it after eu may have stored it too."""
    body = job(federation_id=federation_id, in_doubt=["eu"])
    found = answer(send("POST", "jobs", body, OJS_Federation_Dedupe="1"), 201)
    return dict(found["job"])


def fetch() -> None:
    """Fetch a job."""
    assert answer(send("POST", "workers/fetch", {"queues": ["default"]}))["jobs"]


# --- on the way -----------------------------------------------------------------------------------


def test_job_that_goes_on_names_the_region_and_is_noted(eu: Stub) -> None:
    federate(eu, default_strategy="overflow")
    federation_id = new_id()
    put_region(eu.region(weight=100))
    eu.loses = ["answer", "request"]
    regions.clear()

    found = place(federation_id=federation_id, in_doubt=["eu"])

    assert found["federation"]["target_region"] == "us"
    assert found["job"]["meta"][IN_DOUBT] == ["eu"]
    assert found["job"]["meta"]["ojs.federation.failover_reason"] == "ambiguous"
    doubt = Doubt.objects.get()
    assert (str(doubt.federation_id), doubt.region, str(doubt.job_id)) == (
        federation_id, "eu", found["id"],
    )  # fmt: skip


def test_error_names_who_may_have_the_job_and_the_router_remembers_it(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, local={"drain": True}, failover={"prefer_regions": ["eu", "ap"]})
    eu.loses = ["answer", "request"]
    ap.answers = [refusal(503)]

    details = place(503)["error"]["details"]

    assert details["in_doubt"] == ["eu"]
    row = Placement.objects.get(federation_id=details["federation_id"])
    assert (row.region, row.in_doubt) == ("", ["eu"])
    again = place(200, federation_id=details["federation_id"])
    assert again["federation"]["target_region"] == "eu"
    assert (len(eu.jobs), len(ap.jobs)) == (1, 0)


def test_retry_that_cannot_ask_the_region_of_before_names_it_to_the_next(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, local={"drain": True}, failover={"prefer_regions": ["eu", "ap"]})
    federation_id = new_id()
    place(federation_id=federation_id)
    eu.stop()

    found = place(federation_id=federation_id)

    assert found["federation"]["target_region"] == "ap"
    assert found["job"]["meta"][IN_DOUBT] == ["eu"]


def test_what_failed_without_doubt_leaves_none(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    refuse = {"prefer_regions": ["eu", "ap"], "in_doubt": "refuse"}
    federate(eu, ap, local={"drain": True}, failover=refuse)
    federation_id = new_id()
    eu.answers, ap.answers = [refusal(503)], [refusal(503)]
    assert "in_doubt" not in place(503, federation_id=federation_id)["error"]["details"]
    ap.stop()

    assert place(federation_id=federation_id)["federation"]["target_region"] == "eu"


def test_with_refuse_a_job_in_doubt_waits_for_its_region(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    refuse = {"prefer_regions": ["eu", "ap"], "in_doubt": "refuse"}
    federate(eu, ap, local={"drain": True}, failover=refuse)
    federation_id = new_id()
    eu.loses = ["answer", "request"]

    first = place(503, federation_id=federation_id)["error"]
    again = place(200, federation_id=federation_id)

    assert first["code"] == "federation_region_unavailable"
    assert first["details"]["in_doubt"] == ["eu"]
    assert again["federation"]["target_region"] == "eu"
    assert ap.enqueues == 0


def test_batch_whose_answer_is_lost_names_the_region_to_the_next(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, local={"drain": True}, failover={"prefer_regions": ["eu", "ap"]})
    eu.loses = ["answer"] + ["request"] * 20

    body = {"jobs": [job(), job()]}
    found = answer(send("POST", "federation/jobs/batch", body), 201)

    assert [one["federation"]["target_region"] for one in found["results"]] == ["ap", "ap"]
    assert [one["meta"][IN_DOUBT] for one in ap.jobs.values()] == [["eu"], ["eu"]]


def test_in_doubt_that_is_no_list_of_regions_is_refused(eu: Stub) -> None:
    federate(eu)

    for wrong in ("eu", ["E U"], [5]):
        body = job(federation_id=new_id(), in_doubt=wrong)
        problem = place(422, in_doubt=wrong)["error"]
        assert problem["details"]["field"] == f"meta.{IN_DOUBT}"
        answer(send("POST", "jobs", body, OJS_Federation_Dedupe="1"), 422)
        answer(send("POST", "jobs", body), 201)
    assert not Doubt.objects.exists()


# --- a hub ----------------------------------------------------------------------------------------


def hub_spoke(hub: Stub, *others: Stub) -> None:
    """Make this server a spoke."""
    federate(*others)
    put_region(hub.region(is_hub=True))
    answer(send("PUT", "admin/federation/config", {"local_region": "us", "topology": "hub-spoke"}))


def batch(number: int, status: int) -> list[dict[str, Any]]:
    """Send jobs for ap."""
    body = {"jobs": [job(region="ap", federation_id=new_id()) for _ in range(number)]}
    return list(answer(send("POST", "federation/jobs/batch", body), status)["results"])


def test_batch_of_a_spoke_goes_to_its_hub_as_one(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub.hub_target = "ap"
    hub_spoke(hub, ap)

    found = batch(3, 201)

    assert [one["federation"]["target_region"] for one in found] == ["ap"] * 3
    assert [one["job"]["id"] for one in found] == list(hub.jobs)
    assert hub.asked["POST /ojs/v1/federation/jobs/batch"] == 1
    assert (hub.enqueues, ap.enqueues) == (1, 0)
    (headers,) = (headers for path, headers, _ in hub.sent if path.endswith("/batch"))
    assert headers["ojs-federation-hop"] == "1"


def test_batch_of_a_spoke_is_refused_job_by_job(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub.hub_target = "ap"
    hub.hub_refuses = {1: refusal(422)}
    hub_spoke(hub, ap)

    found = batch(3, 207)

    assert [one["status"] for one in found] == [201, 422, 201]
    assert found[1]["error"]["message"] == "no: 422"
    assert hub.enqueues == 1


def test_what_the_hub_had_no_room_for_is_sent_again_by_itself(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub.hub_target = "ap"
    hub.hub_refuses = {0: refusal(503)}
    hub_spoke(hub, ap)

    assert [one["status"] for one in batch(2, 201)] == [201, 201]
    assert hub.asked["POST /ojs/v1/federation/jobs"] == 1


def test_batch_to_a_hub_whose_answer_is_lost_makes_no_second_job(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub.hub_target = "ap"
    hub_spoke(hub, ap)
    hub.loses = ["answer"]

    found = batch(2, 201)

    assert [one["job"]["id"] for one in found] == list(hub.jobs)
    assert hub.asked["POST /ojs/v1/federation/jobs"] == 2, "each by itself, and known there"


# --- asked ----------------------------------------------------------------------------------------


def test_waiting_job_is_given_up_for_a_later_one_and_told(eu: Stub) -> None:
    federate(eu)
    made = place(federation_id=new_id())
    federation_id = made["federation"]["federation_id"]
    asked = claim(federation_id)

    first, again = give_up(asked), give_up(asked)

    expected = [{"federation_id": federation_id, "outcome": "cancelled", "job_id": made["id"]}]
    assert first == again == expected
    assert is_cancelled(made["id"])
    (event,) = event_data(Kind.FEDERATION_CONFLICT)
    assert event["outcome"] == "cancelled"
    assert (event["winner_region"], event["winner_job_id"]) == ("eu", asked["job_id"])


def test_later_job_stays_unless_the_other_one_has_started(eu: Stub) -> None:
    federate(eu)
    made = place(federation_id=new_id())
    federation_id = made["federation"]["federation_id"]

    assert give_up(claim(federation_id, enqueued_at=NOON))[0]["outcome"] == "wins"
    assert not is_cancelled(made["id"])
    found = give_up(claim(federation_id, enqueued_at=NOON, started=True))
    assert found[0]["outcome"] == "cancelled"


def test_job_that_was_started_stays(eu: Stub) -> None:
    federate(eu)
    federation_id = new_id()
    place(federation_id=federation_id)
    fetch()

    assert give_up(claim(federation_id, started=True))[0]["outcome"] == "ran"


def test_pinned_job_is_not_given_up(eu: Stub) -> None:
    federate(eu)
    federation_id = new_id()
    made = place(federation_id=federation_id, region="us")

    assert give_up(claim(federation_id))[0]["outcome"] == "kept"
    assert not is_cancelled(made["id"])


def test_request_that_arrives_late_stores_nothing(eu: Stub) -> None:
    federate(eu)
    federation_id = new_id()
    asked = claim(federation_id)

    assert give_up(asked)[0] == {
        "federation_id": federation_id, "outcome": "absent", "job_id": None,
    }  # fmt: skip
    late = send("POST", "jobs", job(federation_id=federation_id), OJS_Federation_Dedupe="1")

    problem = answer(late, 409)["error"]
    assert problem["details"]["existing_job_id"] == asked["job_id"]
    assert not Job.objects.exists()
    assert give_up(asked)[0]["outcome"] == "absent"


def test_job_of_another_tenant_is_not_touched(eu: Stub) -> None:
    federate(eu)
    federation_id = new_id()
    made = place(federation_id=federation_id)

    assert give_up(claim(federation_id, tenant_id="other"))[0]["outcome"] == "absent"
    assert not is_cancelled(made["id"])


def test_who_must_not_ask_is_refused(eu: Stub) -> None:
    federate(eu)

    assert give_up(claim(new_id()), region="us", status=400)["details"]["field"] == "region"
    problem = give_up(claim(new_id()), region="mars", status=422)
    assert problem["code"] == "federation_unknown_region"
    assert give_up({"x": 1}, status=400)["details"]["index"] == 0
    assert not FederationKey.objects.exists()


# --- asking ---------------------------------------------------------------------------------------


def well(region: str) -> None:
    """Probe a region and drop its cached state."""
    answer(send("POST", f"admin/federation/regions/{region}/probe", {}))
    regions.clear()


def asked(resolver: DoubtResolver, stub: Stub, outcome: Outcome | None, status: int = 200) -> None:
    """Let the loop ask a region, which gives this answer, and process the answer."""
    results = [{"outcome": str(outcome), "job_id": new_id()}] if outcome else []
    stub.given_up.append((status, {"results": results}))
    well(stub.id)
    assert resolver.run_once() == 1
    until(lambda: resolver.run_once() > 0)


@pytest.mark.parametrize("outcome", [Outcome.ABSENT, Outcome.CANCELLED, Outcome.GONE])
def test_doubt_ends_with_the_answer(eu: Stub, outcome: Outcome) -> None:
    federate(eu)
    made = taken(new_id())

    asked(DoubtResolver(), eu, outcome)

    assert not Doubt.objects.exists()
    assert not is_cancelled(made["id"])
    body = next(body for path, _, body in eu.sent if path.endswith("/give-up"))
    assert body["region"] == "us"
    (sent,) = body["jobs"]
    assert (sent["job_id"], sent["started"]) == (made["id"], False)


@pytest.mark.parametrize("outcome", [Outcome.RAN, Outcome.WINS])
def test_job_that_was_started_there_or_is_later_is_given_up_here(
    eu: Stub, outcome: Outcome
) -> None:
    federate(eu)
    made = taken(new_id())

    asked(DoubtResolver(), eu, outcome)

    assert is_cancelled(made["id"])
    assert not Doubt.objects.exists()
    (event,) = event_data(Kind.FEDERATION_CONFLICT)
    assert (event["outcome"], event["winner_region"]) == ("cancelled", "eu")


def test_job_that_was_started_in_both_regions_is_told(eu: Stub) -> None:
    federate(eu)
    made = taken(new_id())
    fetch()

    asked(DoubtResolver(), eu, Outcome.RAN)

    assert not is_cancelled(made["id"])
    (event,) = event_data(Kind.FEDERATION_CONFLICT)
    assert event["outcome"] == "ran"


def test_job_that_began_after_the_question_is_asked_for_again(eu: Stub) -> None:
    federate(eu)
    made = taken(new_id())
    fetch()

    resolver = DoubtResolver()
    for outcome in ("wins", "cancelled"):
        eu.given_up.append((200, {"results": [{"outcome": outcome, "job_id": new_id()}]}))
    well("eu")
    until(lambda: resolver.run_once() == 0 and not Doubt.objects.exists())

    sent = [body["jobs"][0]["started"] for path, _, body in eu.sent if path.endswith("/give-up")]
    assert sent == [True, True]
    assert (is_cancelled(made["id"]), Doubt.objects.exists()) == (False, False)


def test_nobody_is_asked_in_the_name_of_a_job_that_was_given_up(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    federation_id = new_id()
    taken(federation_id)

    assert give_up(claim(federation_id), region="ap")[0]["outcome"] == "cancelled"

    assert not Doubt.objects.exists()
    well("eu")
    assert DoubtResolver().run_once() == 0


def test_job_that_its_client_cancelled_is_cancelled_there_too(eu: Stub) -> None:
    federate(eu)
    made = taken(new_id())
    end([made["id"]], "tests")

    asked(DoubtResolver(), eu, Outcome.CANCELLED)

    body = next(body for path, _, body in eu.sent if path.endswith("/give-up"))
    assert body["jobs"][0]["started"] is True


def test_region_is_asked_only_while_it_is_well(eu: Stub) -> None:
    federate(eu)
    taken(new_id())
    eu.health = (503, {})
    well("eu")

    assert DoubtResolver().run_once() == 0
    assert not any(path.endswith("/give-up") for path, _, _ in eu.sent)


@pytest.mark.parametrize("status", [404, 500])
def test_region_that_does_not_understand_is_left_alone_for_a_while(eu: Stub, status: int) -> None:
    federate(eu)
    taken(new_id())
    resolver = DoubtResolver()

    asked(resolver, eu, None, status)
    well("eu")

    assert Doubt.objects.exists()
    assert resolver.run_once() == 0
    resolver.cache_clear()
    asked(resolver, eu, Outcome.ABSENT)
    assert not Doubt.objects.exists()


def test_answer_that_is_none_changes_nothing(eu: Stub) -> None:
    federate(eu)
    taken(new_id())

    asked(DoubtResolver(), eu, None)

    assert Doubt.objects.exists()


def test_region_that_is_not_registered_is_not_noted(eu: Stub) -> None:
    federate(eu)

    body = job(federation_id=new_id(), in_doubt=["mars", "us"])
    answer(send("POST", "jobs", body, OJS_Federation_Dedupe="1"), 201)

    assert not Doubt.objects.exists()
