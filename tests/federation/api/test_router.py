"""The hosted router: decisions of the client library over HTTP.

Spec: federation 1 to 3, contract 23.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from federation.domain.breaker import State
from federation.domain.meta import FEDERATION_ID, PREFIX
from federation.models import Placement, RegionHealth, RegionLoad
from federation.services.health import breakers
from federation.services.health.attend import Prober
from federation.services.health.load import note as note_load
from federation.services.registry import regions
from federation.services.registry.configure import put_region, set_drain
from federation.services.routing import placements
from jobs.api.schemas import COMPONENTS
from jobs.domain.access.caller import SYSTEM
from jobs.domain.record.events import Kind
from jobs.domain.wire.ids import new_id
from jobs.models import Job
from jobs.services.lanes.queue_config import configure
from tests.factories import stored
from tests.federation.stub import Stub, refusal
from tests.federation.wire import answer, event_data, federate, job, pass_time, place, send
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]


@pytest.fixture(autouse=True)
def is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this server healthy; without its loops it is not."""
    monkeypatch.setattr("jobs.services.health.health.Health.is_well", property(lambda _self: True))


@pytest.fixture
def eu(stubs: Stubs) -> Stub:
    return stubs("eu")[0]


def down(region: str, failures: int = 5) -> None:
    """Open the breaker of a region now."""
    RegionHealth.objects.filter(region=region).update(
        breaker="open", failures=failures, opened_at=datetime.now(UTC), status="unhealthy",
        checked_at=datetime.now(UTC),
    )  # fmt: skip
    regions.clear()


def is_valid(body: Any, name: str) -> bool:
    jsonschema.validate(body, {**COMPONENTS[name], "components": {"schemas": COMPONENTS}})
    return True


# --- where jobs go --------------------------------------------------------------------------------


@spec("FED-3.1-a")
def test_local_job_is_stored_in_process_after_its_health_was_looked_at(eu: Stub) -> None:
    federate(eu)

    found = place()

    assert found["federation"]["target_region"] == "us"
    assert (found["federation"]["strategy"], found["federation"]["redirects"]) == ("affinity", 0)
    stored = Job.objects.get()
    assert str(stored.id) == found["id"] == found["job"]["id"]
    assert RegionHealth.objects.get(region="us").status == "healthy"
    assert eu.requests == 0


@spec("FED-2.3-a")
def test_and_6_3_a_every_routed_job_has_a_federation_id_of_its_time(eu: Stub) -> None:
    federate(eu, topology="active-active")

    found = place()

    federation_id = found["meta"][FEDERATION_ID]
    assert federation_id == found["federation"]["federation_id"]
    made_at = int(federation_id.replace("-", "")[:12], 16) / 1000
    assert abs(made_at - datetime.now(UTC).timestamp()) < 60
    assert found["meta"][PREFIX + "source_region"] == "us"
    assert PREFIX + "routed_at" in found["meta"]


@spec("federation 3.7")
def test_what_the_caller_set_is_not_overwritten(eu: Stub) -> None:
    federate(eu)
    federation_id = new_id()

    found = place(federation_id=federation_id, source_region="elsewhere")

    assert found["meta"][FEDERATION_ID] == federation_id
    assert found["meta"][PREFIX + "source_region"] == "elsewhere"


@spec("FED-1.1-c")
def test_and_3_1_b_job_goes_elsewhere_while_the_local_breaker_is_open(
    stubs: Stubs,
) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, failover={"prefer_regions": ["eu"]})
    down("us")

    found = place()

    assert found["federation"]["target_region"] == "eu"
    assert (len(eu.jobs), len(ap.jobs), Job.objects.count()) == (1, 0, 0)


@spec("FED-4.4-a")
def test_nearest_region_is_preferred_where_none_is_named(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    Prober().run_once()
    RegionHealth.objects.filter(region="eu").update(
        status="healthy", checked_at=datetime.now(UTC), ewma_ms=80
    )
    RegionHealth.objects.filter(region="ap").update(
        status="healthy", checked_at=datetime.now(UTC), ewma_ms=5
    )
    down("us")

    assert place()["federation"]["target_region"] == "ap"


@spec("FED-3.3-a")
def test_pinned_job_goes_to_its_region_with_its_tenant(eu: Stub) -> None:
    federate(eu)

    found = place(headers={"X-OJS-Tenant": "blue"}, region="eu")

    assert found["federation"]["target_region"] == "eu"
    (sent,) = [facts for path, facts, _ in eu.sent if path == "/ojs/v1/jobs"]
    assert (sent["x-ojs-tenant"], sent["ojs-federation-dedupe"]) == ("blue", "1")
    assert Job.objects.count() == 0


@spec("FED-3.3-a")
def test_and_3_3_c_pinned_job_of_a_dead_region_is_refused_and_nowhere(
    stubs: Stubs,
) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    eu.stop()

    response = send("POST", "federation/jobs", job(region="eu"))

    problem = answer(response, 503)["error"]
    assert (problem["code"], problem["retryable"]) == ("federation_region_unavailable", True)
    assert int(response["Retry-After"]) >= 1
    assert (ap.requests, Job.objects.count()) == (0, 0)


@spec("FED-3.3-b")
def test_unknown_region_is_refused(eu: Stub) -> None:
    federate(eu)

    assert place(422, region="mars")["error"]["code"] == "federation_unknown_region"


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"region_affinity": "geo-pin"}, "federation_region_required"),
        ({"region_affinity": "round-robin"}, "invalid_request"),
        ({"region_affinity": 5}, "invalid_request"),
        ({"region": "EU"}, "invalid_request"),
        ({"federation_id": "x"}, "invalid_request"),
        ({"tags": "gpu"}, "invalid_request"),
    ],
)
@spec("federation 3")
def test_b_what_the_router_cannot_read_is_refused(
    eu: Stub, meta: dict[str, Any], code: str
) -> None:
    federate(eu)

    assert place(422, **meta)["error"]["code"] == code
    assert Job.objects.count() == 0


@spec("FED-6.3-d")
def test_client_must_not_say_that_a_job_was_replicated(eu: Stub) -> None:
    federate(eu)

    problem = place(422, replicated_from="eu")["error"]

    assert problem["details"]["field"] == "meta.ojs.federation.replicated_from"
    assert Job.objects.count() == 0


@spec("FED-6.3-b")
def test_region_pins_whatever_the_affinity_says(eu: Stub) -> None:
    federate(eu)

    assert place(region="eu", region_affinity="overflow")["federation"]["strategy"] == "geo-pin"


@spec("FED-3.2-a")
def test_and_3_2_c_overflow_takes_the_least_loaded_that_is_not_open(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    note_load("us", (50, 5))
    note_load("eu", (3, 1))
    note_load("ap", (0, 0))
    regions.clear()
    answer(send("POST", "federation/route", {"type": "t", "meta": {}}))
    down("ap")

    assert place(region_affinity="overflow")["federation"]["target_region"] == "eu"
    assert ap.enqueues == 0


@spec("FED-3.2")
def test_overflow_spreads_the_jobs_of_an_interval(eu: Stub) -> None:
    federate(eu)
    note_load("us", (0, 0))
    note_load("eu", (3, 0))
    regions.clear()

    targets = [place(region_affinity="overflow")["federation"]["target_region"] for _ in range(5)]
    assert targets[:3] == ["us"] * 3
    assert "eu" in targets[3:]

    found = batch(*[job(region_affinity="overflow")] * 4, status=201)
    assert {one["federation"]["target_region"] for one in found["results"]} == {"us", "eu"}


@spec("FED-3.1-a")
def test_full_local_region_passes_jobs_on(eu: Stub) -> None:
    federate(eu, local={"max_queue_depth": 10})
    RegionLoad.objects.create(region_id="us", available=10, active=0, at=datetime.now(UTC))
    regions.clear()

    assert place()["federation"]["target_region"] == "eu"


def test_draining_region_gets_no_jobs(eu: Stub) -> None:
    federate(eu)
    set_drain("us", drain=True)

    assert place()["federation"]["target_region"] == "eu"


# --- failover -------------------------------------------------------------------------------------


@spec("FED-1.1-c")
def test_dead_region_is_left_for_the_next_and_it_is_told(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, failover={"prefer_regions": ["eu", "ap"]})
    down("us")
    place()  # this enqueue probes both regions
    eu.stop()

    found = place()

    assert found["federation"]["target_region"] == "ap"
    assert found["federation"]["redirects"] == 1
    (fact,) = event_data(Kind.FEDERATION_FAILOVER)
    assert (fact["from_region"], fact["to_region"]) == ("eu", "ap")
    assert fact["federation_id"] == found["federation"]["federation_id"]
    assert RegionHealth.objects.get(region="eu").failures == 1


@spec("contract 32.5")
def test_a_failover_is_a_warning(stubs: Stubs, caplog: pytest.LogCaptureFixture) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, failover={"prefer_regions": ["eu", "ap"]})
    down("us")
    place()  # this enqueue probes both regions
    eu.stop()

    place()

    (line,) = [one for one in caplog.records if one.getMessage() == "ojs.federation.failover"]
    assert (line.levelname, line.name) == ("WARNING", "ojs.federation")


def test_lost_answer_is_asked_for_again_and_makes_no_second_job(eu: Stub) -> None:
    federate(eu)
    eu.loses = ["answer"]

    response = send("POST", "federation/jobs", job(region="eu"))

    found = answer(response, 200)
    assert response["OJS-Deduplicated"] == "true"
    assert len(eu.jobs) == 1
    assert found["federation"]["target_region"] == "eu"


def test_region_that_stays_silent_is_left_and_the_reason_is_told(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, failover={"prefer_regions": ["eu", "ap"]})
    down("us")
    place()
    eu.loses = ["request", "request"]

    found = place()

    assert found["federation"]["target_region"] == "ap"
    assert found["job"]["meta"][PREFIX + "failover_reason"] == "ambiguous"


def test_retry_asks_the_region_that_may_have_the_job_though_another_is_better_now(
    eu: Stub,
) -> None:
    federate(eu)
    federation_id = new_id()
    note_load("us", (9, 0))
    note_load("eu", (0, 0))
    regions.clear()
    first = place(federation_id=federation_id, region_affinity="overflow")
    assert first["federation"]["target_region"] == "eu"
    note_load("eu", (99, 0))
    regions.clear()

    again = place(200, federation_id=federation_id, region_affinity="overflow")
    many = batch(job(federation_id=federation_id, region_affinity="overflow"), status=201)

    assert again["job"]["id"] == first["job"]["id"]
    assert many["results"][0]["federation"]["target_region"] == "eu"
    assert (len(eu.jobs), Job.objects.count()) == (1, 0)


def test_retry_of_a_job_that_is_here_finds_it_though_this_region_is_full(eu: Stub) -> None:
    federate(eu, local={"max_queue_depth": 1})
    federation_id = new_id()
    first = place(federation_id=federation_id)
    note_load("us", (5, 0))
    regions.clear()

    assert place(200, federation_id=federation_id)["id"] == first["id"]
    assert place(federation_id=new_id())["federation"]["target_region"] == "eu"


def test_placements_are_forgotten_behind_the_window(eu: Stub) -> None:
    federate(eu)
    place(federation_id=new_id())
    assert placements.delete_expired_placements(10) == 0

    Placement.objects.update(at=datetime(2020, 1, 1, tzinfo=UTC))

    assert placements.delete_expired_placements(10) == 1


def test_refusal_of_a_region_is_an_answer_and_goes_to_the_caller(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    eu.answers = [refusal(422)]

    found = place(422, region="eu")

    assert found["error"]["message"] == "no: 422"
    assert found["federation"]["target_region"] == "eu"
    assert (RegionHealth.objects.get(region="eu").failures, ap.requests) == (0, 0)


def test_busy_region_is_left_without_counting_a_failure(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap, failover={"prefer_regions": ["eu", "ap"]})
    down("us")
    eu.answers = [refusal(429, "rate_limited")]

    assert place()["federation"]["target_region"] == "ap"
    assert RegionHealth.objects.get(region="eu").failures == 0


def test_full_queue_here_passes_a_job_on(eu: Stub) -> None:
    federate(eu)
    configure("default", {"backpressure": {"max_depth": 1, "strategy": "reject"}})
    stored(1, queue="default")

    assert place()["federation"]["target_region"] == "eu"


def test_job_that_is_wrong_is_refused_before_anybody_is_asked(eu: Stub) -> None:
    federate(eu)

    problem = answer(send("POST", "federation/jobs", {"type": "?", "args": []}), 400)["error"]

    assert problem["details"]["field"] == "type"
    assert eu.requests == 0


@spec("FED-4.3-b")
def test_breaker_opens_with_the_fifth_failure_of_jobs(eu: Stub) -> None:
    federate(eu, health_check={"interval_seconds": 1000})
    place(region="eu")
    eu.answers = [refusal(500, "backend_error")] * 10  # two requests for each attempt
    for _ in range(2):
        place(503, region="eu")
    assert RegionHealth.objects.get(region="eu").breaker == "closed"

    place(503, region="eu")

    assert RegionHealth.objects.get(region="eu").breaker == "open"
    asked = eu.requests
    assert place(503, region="eu")["error"]["details"]["reason"] == "circuit breaker open"
    assert eu.requests == asked
    assert len(event_data(Kind.CIRCUIT_OPENED)) == 1


@spec("FED-4.3-c")
def test_and_4_3_d_open_breaker_lets_one_job_pass_after_its_cooldown(eu: Stub) -> None:
    federate(eu)
    place(region="eu")
    down("eu")
    place(503, region="eu")
    asked = eu.requests

    pass_time("eu", 31)

    assert place(region="eu")["federation"]["target_region"] == "eu"
    assert eu.requests > asked
    assert RegionHealth.objects.get(region="eu").breaker == "closed"
    assert len(event_data(Kind.CIRCUIT_CLOSED)) == 1


# --- hub-spoke ------------------------------------------------------------------------------------


def hub_spoke(hub: Stub, *others: Stub, **config: Any) -> None:
    federate(*others)
    put_region(hub.region(is_hub=True))
    federate_again = {"topology": "hub-spoke", **config}
    answer(send("PUT", "admin/federation/config", federate_again))


@spec("FED-2.1")
def test_spoke_asks_its_hub_for_other_regions(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub.hub_target = "ap"
    hub_spoke(hub, ap)

    found = place(region="ap")

    assert found["federation"]["target_region"] == "ap"
    assert hub.asked["POST /ojs/v1/federation/jobs"] == 1
    assert ap.enqueues == 0


@spec("FED-2.1-b")
def test_and_2_1_c_spoke_works_alone_while_the_hub_is_gone(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub_spoke(hub, ap)
    hub.stop()

    assert place()["federation"]["target_region"] == "us"
    assert place(region_affinity="overflow")["federation"]["target_region"] == "us"
    assert place(503, region="ap")["error"]["code"] == "federation_region_unavailable"
    assert ap.enqueues == 0
    answer(send("POST", "jobs", job()), 201)
    assert len(answer(send("POST", "workers/fetch", {"queues": ["default"]}))["jobs"]) == 1


def test_hub_that_is_asked_by_a_hub_asks_no_other(stubs: Stubs) -> None:
    hub, ap = stubs("hub", "ap")
    hub_spoke(hub, ap)

    problem = place(503, headers={"OJS-Federation-Hop": "1"}, region="ap")["error"]

    assert "second hub" in problem["details"]["reason"]
    assert hub.enqueues == 0


# --- many -----------------------------------------------------------------------------------------


def batch(*jobs: dict[str, Any], status: int) -> Any:
    return answer(send("POST", "federation/jobs/batch", {"jobs": list(jobs)}), status)


def test_batch_goes_where_each_job_belongs_by_one_request_to_each_region(eu: Stub) -> None:
    federate(eu)

    found = batch(job(), job(region="eu"), job(region="eu"), status=201)

    assert [one["federation"]["target_region"] for one in found["results"]] == ["us", "eu", "eu"]
    assert (found["enqueued"], found["failed"]) == (3, 0)
    assert eu.asked["POST /ojs/v1/jobs/batch"] == 1
    assert (len(eu.jobs), Job.objects.count()) == (2, 1)


def test_batch_with_refused_jobs_is_207_and_tells_of_each(eu: Stub) -> None:
    federate(eu)

    found = batch(job(), {"type": 5}, job(region="mars"), job(region="eu"), status=207)

    assert [one["status"] for one in found["results"]] == [201, 400, 422, 201]
    assert found["results"][2]["error"]["code"] == "federation_unknown_region"
    assert (found["enqueued"], found["failed"]) == (2, 2)


def test_batch_of_refused_jobs_is_422(eu: Stub) -> None:
    federate(eu)

    found = batch(job(region="mars"), 5, status=422)  # type: ignore[arg-type]  # an invalid item

    assert found["error"]["code"] == "x_bulk_failed"
    assert found["failed"] == 2


def test_batch_that_a_region_refuses_as_a_whole_is_sent_job_by_job(eu: Stub) -> None:
    federate(eu)
    eu.answers = [refusal(409), refusal(409)]

    found = batch(job(region="eu"), job(region="eu"), status=207)

    assert [one["status"] for one in found["results"]] == [409, 201]


def test_batch_whose_answer_is_lost_makes_no_second_job(eu: Stub) -> None:
    federate(eu)
    place(region="eu")
    eu.loses = ["answer"]

    found = batch(job(region="eu"), job(region="eu"), status=201)

    assert found["enqueued"] == 2
    assert len(eu.jobs) == 3


# --- what the router tells ------------------------------------------------------------------------


@spec("FED-1.1-b")
def test_dry_run_names_strategy_and_reason_and_stores_nothing(eu: Stub) -> None:
    federate(eu)

    found = answer(send("POST", "federation/route", {"type": "t", "meta": {}}))

    assert is_valid(found, "FederationRoute")
    assert (found["target_region"], found["strategy"]) == ("us", "affinity")
    assert found["candidates"][0] == {"id": "us", "score": 1.0, "reason": "local"}
    assert (Job.objects.count(), eu.enqueues) == (0, 0)


@spec("FED-6.3-c")
def test_dry_run_without_an_affinity_is_by_affinity(eu: Stub) -> None:
    federate(eu)

    assert answer(send("POST", "federation/route", {}))["strategy"] == "affinity"


@spec("FED-2.2-a")
def test_list_of_regions_tells_how_each_is(eu: Stub) -> None:
    federate(eu)
    answer(send("POST", "federation/route", job(region="eu")))

    found = answer(send("GET", "federation/regions"))

    assert is_valid(found, "FederationRegions")
    by_id = {one["id"]: one for one in found["regions"]}
    assert by_id["eu"]["status"] == "healthy"
    assert by_id["eu"]["latency_ms"] is not None
    assert by_id["us"] | {"url": ""} == {
        "id": "us", "url": "", "status": "unknown", "latency_ms": None,
        "circuit_breaker": "closed", "last_health_check": None,
    }  # fmt: skip


def test_health_tells_how_many_regions_are_well(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    answer(send("POST", "federation/route", job(region_affinity="overflow")))
    found = answer(send("GET", "federation/health"))
    assert is_valid(found, "FederationHealth")
    assert (found["status"], found["healthy_regions"]) == ("healthy", 3)

    down("eu")
    assert answer(send("GET", "federation/health"))["status"] == "degraded"

    for region in ("us", "ap"):
        down(region)
    assert answer(send("GET", "federation/health"))["status"] == "unhealthy"


def test_paths_without_ojs_are_aliases(eu: Stub, client: Any) -> None:
    federate(eu)

    assert client.get("/v1/federation/regions").json() == answer(send("GET", "federation/regions"))
    assert client.get("/v1/federation/health").status_code == 200


def test_server_that_belongs_to_no_federation_says_so() -> None:
    assert place(409)["error"]["code"] == "federation_not_configured"
    assert answer(send("GET", "federation/regions"))["regions"] == []
    assert answer(send("GET", "federation/health"))["status"] == "unhealthy"
    problem = answer(send("POST", "federation/route", {}), 409)["error"]
    assert problem["code"] == "federation_not_configured"
    assert batch(job(), status=409)["error"]["code"] == "federation_not_configured"


@spec("FED-1.1-a")
def test_plain_enqueue_never_routes_and_keeps_any_meta(eu: Stub) -> None:
    federate(eu)
    said = job(
        region="mars", region_affinity="nonsense", replicated_from="eu", federation_id="no id",
        weights={"eu": "many"},
    )  # fmt: skip

    found = answer(send("POST", "jobs", said), 201)

    assert found["meta"] == said["meta"]
    assert eu.requests == 0


# --- access ---------------------------------------------------------------------------------------


def test_peer_key_with_its_scope_alone_may_place_jobs(new_key: Any, eu: Stub) -> None:
    federate(eu)
    peer, producer = new_key("ojs:federation:write"), new_key("ojs:data:enqueue")

    answer(send("POST", "federation/jobs", job(), **peer), 201)
    answer(send("POST", "federation/jobs", job(), **producer), 403)


def test_key_of_one_tenant_places_jobs_of_that_tenant(new_key: Any, eu: Stub) -> None:
    federate(eu)
    key = new_key("ojs:federation:write", tenant="blue")

    found = answer(send("POST", "federation/jobs", job(region="eu"), **key), 201)

    assert found["federation"]["target_region"] == "eu"
    assert next(h for path, h, _ in eu.sent if path == "/ojs/v1/jobs")["x-ojs-tenant"] == "blue"


@spec("D-MT-11")
def test_key_of_one_tenant_places_no_job_of_another(new_key: Any, eu: Stub) -> None:
    federate(eu)
    key = new_key("ojs:federation:write", tenant="blue")
    wrong = job(region="eu")
    wrong["meta"]["tenant_id"] = "red"

    one = send("POST", "federation/jobs", wrong, **key)
    many = send("POST", "federation/jobs/batch", {"jobs": [wrong]}, **key)

    assert answer(one, 403)["error"]["code"] == "tenant_mismatch"
    assert answer(many, 422)["results"][0]["error"]["code"] == "tenant_mismatch"
    assert not [path for path, _, _ in eu.sent if path == "/ojs/v1/jobs"]


def test_key_places_jobs_in_its_queues_alone(new_key: Any, eu: Stub) -> None:
    federate(eu)
    key = new_key("ojs:federation:write", queues_enqueue=["mail"])

    answer(send("POST", "federation/jobs", job(region="eu"), **key), 403)

    assert eu.requests == 0


def test_breaker_that_was_opened_by_hand_stays_open(eu: Stub) -> None:
    federate(eu)
    breakers.force("eu", State.OPEN, SYSTEM)
    pass_time("eu", 1000)

    assert place(503, region="eu")["error"]["details"]["reason"] == "circuit breaker open"
    assert eu.requests == 0
