"""Regions and the configuration for operators. Spec: contract 23.5, 24."""

from collections.abc import Callable
from typing import Any

import pytest

from federation.domain.reasons import Reason
from federation.models import RegionHealth
from federation.services.registry import regions
from federation.services.registry.configure import apply_settings
from federation.services.registry.regions import registry
from jobs.domain.record.events import Kind
from jobs.models import Audit
from tests.federation.stub import Stub
from tests.federation.wire import answer, event_data, federate, send
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

EU: dict[str, Any] = {"id": "eu", "url": "https://eu.example.org"}
SECRET = "a-token-that-nobody-may-see"  # noqa: S105 - of a test


def create(status: int = 201, **members: Any) -> Any:
    return answer(send("POST", "admin/federation/regions", {**EU, **members}), status)


def one(method: str, region: str, body: Any = None, status: int = 200) -> Any:
    return answer(send(method, f"admin/federation/regions/{region}", body), status)


def test_region_is_registered_shown_changed_and_deleted() -> None:
    response = send("POST", "admin/federation/regions", EU)
    made = answer(response, 201)
    assert response["Location"] == "/ojs/v1/admin/federation/regions/eu"
    assert made["health"]["status"] == "unknown"
    assert (made["weight"], made["tags"], made["load"], made["source"]) == (1, [], None, "dynamic")

    changed = one("PATCH", "eu", {"weight": 3, "tags": ["gdpr"]})
    assert (changed["weight"], changed["tags"], changed["url"]) == (3, ["gdpr"], EU["url"])
    replaced = one("PUT", "eu", {"url": "https://other.example.org/"})
    assert (replaced["weight"], replaced["url"]) == (1, "https://other.example.org")
    listed = answer(send("GET", "admin/federation/regions"))
    assert [row["id"] for row in listed["items"]] == ["eu"] == [r["id"] for r in listed["regions"]]
    assert listed["pagination"]["total"] == listed["total"] == 1

    one("DELETE", "eu", status=204)
    one("GET", "eu", status=404)


def test_answer_of_a_region_is_taken_back_as_it_is() -> None:
    made = create()

    assert one("PUT", "eu", made) | {"updated_at": ""} == made | {"updated_at": ""}


def test_region_that_is_there_is_not_created_again() -> None:
    create()

    assert create(409)["error"]["code"] == "conflict"
    assert one("PUT", "ap", {"url": "https://ap.example.org"}, 201)["id"] == "ap"


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"id": "EU"}, "id"),
        ({"id": "e\0u"}, "id"),
        ({"url": "http://eu.example.org"}, "url"),
        ({"url": "http://eu.example.org", "allow_insecure": True}, "url"),
        ({"url": "https://user:pw@eu.example.org"}, "url"),
        ({"url": "https://169.254.169.254/"}, "url"),
        ({"url": "https://eu.example.org/?x=1"}, "url"),
        ({"url": "ftp://eu.example.org"}, "url"),
        ({"url": 5}, "url"),
        ({"weight": -1}, "weight"),
        ({"weight": 2**40}, "weight"),
        ({"weight": 0.5}, "weight"),
        ({"tags": ["a"] * 100}, "tags"),
        ({"tags": [["a"]]}, "tags[0]"),
        ({"drain": "yes"}, "drain"),
        ({"max_queue_depth": "many"}, "max_queue_depth"),
        ({"auth": {"kind": "bearer"}}, "auth.token"),
        ({"auth": {"kind": "bearer", "token_ref": SECRET}}, "auth.token_ref"),
        ({"auth": {"kind": "mtls"}}, "auth.kind"),
        ({"auth": {"kind": "none", "token": SECRET}}, "auth.kind"),
        ({"auth": {"kind": "bearer", "word": SECRET}}, "auth.word"),
        ({"auth": []}, "auth"),
        ({"colour": "red"}, "colour"),
    ],
)
@spec("FED-7.1-a")
def test_region_that_breaks_a_rule_is_refused_by_name(members: dict[str, Any], field: str) -> None:
    problem = create(400 if "\0" in str(members.get("id")) else 422, **members)["error"]

    assert "\0" in str(members.get("id")) or problem["details"]["field"] == field
    assert SECRET not in str(problem)
    assert answer(send("GET", "admin/federation/regions"))["items"] == []


def test_secret_of_the_settings_that_is_missing_makes_a_region_unhealthy(
    stubs: Callable[..., list[Stub]], settings: Any, caplog: Any
) -> None:
    """The log names the missing secret to operators; the answer to a probe contains no name."""
    (eu,) = stubs("eu")
    auth = {"kind": "bearer", "token_ref": "env:OJS_TEST_NO_TOKEN"}
    stated = {"id": "eu", "url": eu.url, "allow_insecure": True, "auth": auth}
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "ALLOW_PRIVATE": True, "REGIONS": [stated]}
    federate()
    apply_settings()

    found = answer(send("POST", "admin/federation/regions/eu/probe"))["health"]

    assert found["status"] == "unhealthy"
    assert found["last_error"] == Reason.UNREADABLE
    (line,) = [one for one in caplog.records if one.getMessage() == "federation.secret_unreadable"]
    assert "env:OJS_TEST_NO_TOKEN" in line.problem
    assert eu.requests == 0


def test_breaker_is_opened_and_closed_by_hand(stubs: Callable[..., list[Stub]]) -> None:
    federate(*stubs("eu"))

    opened = one("POST", "eu/breaker", {"state": "open"})["health"]
    assert (opened["circuit_breaker"], opened["is_forced"]) == ("open", True)
    closed = one("POST", "eu/breaker", {"state": "closed"})["health"]

    assert (closed["circuit_breaker"], closed["is_forced"], closed["failures"]) == (
        "closed", False, 0,
    )  # fmt: skip
    assert [len(event_data(k)) for k in (Kind.CIRCUIT_OPENED, Kind.CIRCUIT_CLOSED)] == [1, 1]
    actions = Audit.objects.filter(action__startswith="federation.breaker").order_by("id")
    assert [row.action for row in actions] == [
        "federation.breaker_opened", "federation.breaker_closed",
    ]  # fmt: skip
    for state in ("half-open", None, ["open"], 5):
        assert one("POST", "eu/breaker", {"state": state}, 422)["error"]["details"]["field"]
    one("POST", "eu/breaker", {"state": "open", "why": 1}, 422)


def test_region_drains_and_takes_jobs_again(stubs: Callable[..., list[Stub]]) -> None:
    federate(*stubs("eu"))

    assert one("POST", "eu/drain")["drain"]
    assert registry().regions["eu"].drain
    assert not one("POST", "eu/undrain")["drain"]
    one("POST", "eu/drain", {"for": "ever"}, 422)
    one("POST", "ap/drain", status=404)


def test_local_region_is_not_deleted(stubs: Callable[..., list[Stub]]) -> None:
    federate(*stubs("eu"))

    assert one("DELETE", "us", status=409)["error"]["code"] == "conflict"


def test_probe_asks_nobody_while_the_breaker_is_open(stubs: Callable[..., list[Stub]]) -> None:
    eu = stubs("eu")[0]
    federate(eu)
    one("POST", "eu/breaker", {"state": "open"})

    answer(send("POST", "admin/federation/regions/eu/probe"))

    assert eu.requests == 0


# --- the configuration ----------------------------------------------------------------------------


def test_configuration_is_shown_with_its_defaults() -> None:
    found = answer(send("GET", "admin/federation/config"))

    assert found["local_region"] is None
    assert "no federation" in found["problem"]
    assert found["topology"] == "mesh"
    assert found["circuit_breaker"] == {"failure_threshold": 5, "cooldown_seconds": 30.0}
    assert found["health_check"] == {"interval_seconds": 10.0, "timeout_seconds": 5.0}
    assert found["load_interval_seconds"] == 10.0


@spec("FED-2-a")
def test_each_topology_is_configured(stubs: Callable[..., list[Stub]]) -> None:
    federate(*stubs("eu"), local={"is_hub": True})

    for topology in ("hub-spoke", "mesh", "active-active"):
        body = {"local_region": "us", "topology": topology}
        found = answer(send("PUT", "admin/federation/config", body))
        assert (found["topology"], found["problem"]) == (topology, None)


@spec("FED-3.2-b")
def test_intervals_are_configured_by_either_name(
    stubs: Callable[..., list[Stub]],
) -> None:
    federate(*stubs("eu"))
    body = {
        "local_region": "us", "load_interval_seconds": 3,
        "circuit_breaker": {
            "open_after_failures": 2, "half_open_after_seconds": 7, "probe_count": 3,
        },
    }  # fmt: skip

    found = answer(send("PUT", "admin/federation/config", body))

    assert found["load_interval_seconds"] == 3
    assert found["circuit_breaker"] == {"failure_threshold": 2, "cooldown_seconds": 7}
    assert answer(send("PUT", "admin/federation/config", found)) == found


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"local_region": "mars"}, "local_region"),
        ({"local_region": "us", "topology": "hub-spoke"}, "regions"),
        ({"local_region": "us", "topology": "star"}, "topology"),
        ({"local_region": "us", "debug": True}, "debug"),
        ({"local_region": "us", "regions": []}, "regions"),
        ({"local_region": "us", "default_strategy": "weighted"}, "default_strategy"),
        ({"local_region": "us", "health_check": {"interval_seconds": 0}},
         "health_check.interval_seconds"),
        ({"local_region": "us", "health_check": []}, "health_check"),
        ({"local_region": "us", "failover": {"prefer_regions": ["mars"]}},
         "failover.prefer_regions"),
        ({"local_region": "us", "colour": "red"}, "colour"),
        ({"local_region": ["us"]}, "local_region"),
    ],
)  # fmt: skip
@spec("FED-2.1-a")
def test_configuration_that_breaks_a_rule_is_refused_by_name(
    body: dict[str, Any], field: str, stubs: Callable[..., list[Stub]]
) -> None:
    federate(*stubs("eu"))

    problem = answer(send("PUT", "admin/federation/config", body), 422)["error"]

    assert problem["details"]["field"] == field
    assert answer(send("GET", "admin/federation/config"))["topology"] == "mesh"


def test_metrics_and_manifest_tell_of_the_federation(
    stubs: Callable[..., list[Stub]], client: Any
) -> None:
    federate(*stubs("eu"))
    answer(send("POST", "admin/federation/regions/eu/probe"))
    one("POST", "us/breaker", {"state": "open"})
    regions.clear()

    page = client.get("/metrics").content.decode()

    assert 'ojs_federation_region_healthy{region="eu"} 1.0' in page
    assert 'ojs_federation_circuit_state{region="us"} 2.0' in page
    assert 'ojs_federation_region_latency_seconds{region="eu"}' in page
    assert client.get("/ojs/manifest").json()["capabilities"]["federation"] is True


@spec("FED-4.2-b")
def test_region_is_healthy_with_200_and_ok_alone(
    stubs: Callable[..., list[Stub]],
) -> None:
    eu = stubs("eu")[0]
    federate(eu)
    judged = {}

    for health in ((200, {"status": "ok"}), (200, {"status": "degraded"}), (200, "no json"),
                   (503, {"status": "ok"}), (200, {"status": "ok"})):  # fmt: skip
        eu.health = health
        found = answer(send("POST", "admin/federation/regions/eu/probe"))["health"]
        judged[str(health)] = found["status"]

    assert list(judged.values()) == ["healthy", "unhealthy", "unhealthy", "unhealthy"]
    assert judged[str((200, {"status": "ok"}))] == "healthy"
    assert len(event_data(Kind.REGION_UNHEALTHY)) == len(event_data(Kind.REGION_HEALTHY)) == 1
    assert RegionHealth.objects.get(region="eu").failures == 0
