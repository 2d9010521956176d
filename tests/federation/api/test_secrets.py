"""Secrets of the server and of regions never leave their place. Spec: contract 23.7, 31."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from federation.domain.reasons import Reason
from federation.models import Region, RegionHealth, ReplicationPeer
from federation.services.registry import regions
from federation.services.registry.configure import apply_settings
from jobs.domain.record.events import Kind
from jobs.models import Audit
from tests.federation.stub import Stub
from tests.federation.wire import answer, event_data, federate, place, send

pytestmark = pytest.mark.usefixtures("store")

REGIONS = "admin/federation/regions"
SECRET = "a-secret-of-the-server-itself"  # noqa: S105 - of a test
TOKEN = "ojs_abcdefgh_a-token-of-the-peer"  # noqa: S105 - of a test
REFERENCE = "env:OJS_TEST_SECRET"
BANNER = "internal-banner-7261"
Stubs = Callable[..., list[Stub]]


def put(region: str, status: int = 200, **members: Any) -> Any:
    return answer(send("PUT", f"{REGIONS}/{region}", members), status)


def patch(region: str, status: int = 200, **members: Any) -> Any:
    return answer(send("PATCH", f"{REGIONS}/{region}", members), status)


def probe(region: str) -> Any:
    return answer(send("POST", f"{REGIONS}/{region}/probe"))["health"]


def sent_to(stub: Stub) -> str:
    return json.dumps(stub.sent)


@pytest.mark.parametrize("member", ["token_ref", "cert_ref", "key_ref", "ca_ref"])
@pytest.mark.parametrize("reference", ["env:OJS_TEST_SECRET", "file:/etc/passwd"])
def test_reference_over_the_api_is_refused_by_name_and_read_by_nobody(
    stubs: Stubs, monkeypatch: pytest.MonkeyPatch, member: str, reference: str
) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    monkeypatch.setenv("OJS_TEST_SECRET", SECRET)
    auth = {"kind": "bearer", member: reference}
    body = {"url": eu.url, "allow_insecure": True, "auth": auth}

    for method, path, given in (
        ("PUT", f"{REGIONS}/eu", body),
        ("PATCH", f"{REGIONS}/eu", {"auth": auth}),
        ("POST", REGIONS, {"id": "ap", **body}),
    ):
        problem = answer(send(method, path, given), 422)["error"]
        assert problem["details"]["field"] == f"auth.{member}"
    probe("eu")

    assert SECRET not in sent_to(eu)
    assert "authorization" not in eu.sent[-1][1]


def test_reference_that_an_earlier_release_stored_is_not_followed(
    stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    monkeypatch.setenv("OJS_TEST_SECRET", SECRET)
    Region.objects.filter(id="eu").update(auth_kind="bearer", token_ref=REFERENCE)
    regions.clear()

    found = probe("eu")

    assert found["status"] == "unhealthy"
    assert "set again" in found["last_error"]
    assert eu.requests == 0
    assert patch("eu", auth={"kind": "bearer", "token": TOKEN})["auth"]["token_set"]
    assert probe("eu")["status"] == "healthy"
    assert eu.sent[-1][1]["authorization"] == f"Bearer {TOKEN}"
    assert Region.objects.get(id="eu").token_ref is None


def test_token_is_stored_encrypted_sent_to_its_region_and_shown_nowhere(
    stubs: Stubs, caplog: pytest.LogCaptureFixture
) -> None:
    (eu,) = stubs("eu")
    federate(eu)

    shown = patch("eu", auth={"kind": "bearer", "token": TOKEN})
    probed = probe("eu")

    assert shown["auth"] == {
        "kind": "bearer", "token_set": True, "certificate_set": False, "ca_set": False,
    }  # fmt: skip
    assert probed["status"] == "healthy"
    assert eu.sent[-1][1]["authorization"] == f"Bearer {TOKEN}"
    rows = list(Region.objects.values())
    listed = answer(send("GET", REGIONS))
    everywhere = [shown, probed, rows, listed, caplog.text, list(Audit.objects.values())]
    assert all(TOKEN not in repr(one) for one in everywhere)


def test_token_stays_where_a_request_says_only_its_kind(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    shown = patch("eu", auth={"kind": "bearer", "token": TOKEN})

    assert put("eu", **shown)["auth"]["token_set"]
    patch("eu", weight=4)
    probe("eu")
    assert eu.sent[-1][1]["authorization"] == f"Bearer {TOKEN}"

    assert not patch("eu", auth=None)["auth"]["token_set"]
    probe("eu")
    assert "authorization" not in eu.sent[-1][1]
    assert patch("eu", 422, auth={"kind": "bearer"})["error"]["details"]["field"] == "auth.token"


@pytest.mark.parametrize("token", ["", "two words", "line\r\nX-Evil: 1", "ü", "x" * 9000, 5, []])
def test_token_that_is_none_is_refused_and_not_repeated(stubs: Stubs, token: Any) -> None:
    federate(*stubs("eu"))

    problem = patch("eu", 422, auth={"kind": "bearer", "token": token})["error"]

    assert problem["details"]["field"] == "auth.token"
    assert not token or not isinstance(token, str) or token not in repr(problem)


def test_token_does_not_follow_a_region_to_another_server(stubs: Stubs) -> None:
    eu, thief = stubs("eu", "thief")
    federate(eu)
    patch("eu", auth={"kind": "bearer", "token": TOKEN})

    moved = {"url": thief.url, "allow_insecure": True}
    assert patch("eu", 422, **moved)["error"]["details"]["field"] == "auth.token"
    put_there = put("eu", 422, **moved, auth={"kind": "bearer"})
    assert put_there["error"]["details"]["field"] == "auth.token"
    probe("eu")

    assert thief.requests == 0
    assert patch("eu", url=f"{eu.url}/below")["url"].endswith("/below")


def test_region_of_the_settings_keeps_its_url_and_its_secret(
    stubs: Stubs, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an admin of regions could have the token sent to a server of their own."""
    eu, thief = stubs("eu", "thief")
    monkeypatch.setenv("OJS_TEST_SECRET", SECRET)
    settings.OJS_FEDERATION = of_settings(eu)
    apply_settings()

    for members, field in (
        ({"url": thief.url}, "url"),
        ({"url": "https://127.0.0.1", "allow_insecure": False}, "url"),
        ({"auth": {"kind": "bearer", "token": TOKEN}}, "auth"),
        ({"auth": None}, "auth"),
        ({"auth": {"kind": "none"}}, "auth"),
    ):
        assert patch("eu", 422, **members)["error"]["details"]["field"] == field
        whole = {"url": eu.url, **members}
        assert put("eu", 422, **whole)["error"]["details"]["field"] == field
    assert put("eu", url=eu.url, weight=3)["weight"] == 3
    assert put("eu", **patch("eu", drain=True))["drain"]
    # a row that another writer changed
    Region.objects.filter(id="eu").update(url=thief.url, token_ref=REFERENCE, drain=False)
    regions.clear()
    assert probe("eu")["status"] == "healthy"

    assert thief.requests == 0
    assert eu.sent[-1][1]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(answer(send("GET", f"{REGIONS}/eu")))


def of_settings(eu: Stub) -> dict[str, Any]:
    auth = {"kind": "bearer", "token_ref": "env:OJS_TEST_SECRET"}
    us = {"id": "us", "url": "http://127.0.0.1:9", "allow_insecure": True}
    return {
        "LOCAL_REGION": "us",
        "REGIONS": [us, {"id": "eu", "url": eu.url, "allow_insecure": True, "auth": auth}],
    }


def test_region_that_leaves_the_settings_loses_its_secret(
    stubs: Stubs, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (eu,) = stubs("eu")
    monkeypatch.setenv("OJS_TEST_SECRET", SECRET)
    chosen = of_settings(eu)
    settings.OJS_FEDERATION = chosen
    apply_settings()
    settings.OJS_FEDERATION = chosen | {"REGIONS": chosen["REGIONS"][:1], "ALLOW_PRIVATE": True}
    regions.clear()

    found = probe("eu")

    assert "set again" in found["last_error"]
    assert eu.requests == 0


# --- what errors tell -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        (200, {"status": BANNER}),
        (500, {"error": {"message": BANNER, "code": BANNER}}),
        (200, BANNER),
    ],
)
def test_what_a_region_answers_is_told_nowhere(
    stubs: Stubs, said: tuple[int, Any], caplog: pytest.LogCaptureFixture, client: Client
) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    eu.health = said

    found = probe("eu")

    assert found["status"] == "unhealthy"
    assert str(said[0]) in found["last_error"]
    page = client.get("/metrics").content.decode()
    everywhere = [
        found, list(RegionHealth.objects.values()), event_data(Kind.REGION_UNHEALTHY),
        caplog.text, page,
    ]  # fmt: skip
    assert all(BANNER not in repr(one) for one in everywhere)
    assert ReplicationPeer.objects.count() == 0


def test_local_region_is_the_settings_alone(stubs: Stubs) -> None:
    federate(*stubs("eu"))

    refused = answer(send("PUT", "admin/federation/config", {"local_region": "eu"}), 422)

    assert refused["error"]["details"]["field"] == "local_region"
    shown = answer(send("GET", "admin/federation/config"))
    assert shown["local_region"] == "us"
    assert answer(send("PUT", "admin/federation/config", shown)) == shown


def test_what_else_listens_at_a_regions_url_is_not_shown_to_producers(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    for status in (200, 404):
        eu.answers.append((status, {"banner": BANNER, "federation": {"target_region": BANNER}}, {}))

        shown = place(status, region="eu")

        assert shown.keys() == {"federation"}
        assert BANNER not in repr(shown)


@pytest.mark.parametrize(
    "host", ["0x7f000001", "2130706433", "0177.0.0.1", "127.1", "a..b", "-a", "a%31", "a" * 64]
)
def test_host_that_is_neither_a_name_nor_an_address_is_refused(host: str) -> None:
    problem = put("eu", 422, url=f"https://{host}")["error"]

    assert problem["details"]["field"] == "url"


def test_url_that_cannot_be_asked_is_a_failure_of_its_region_alone(stubs: Stubs) -> None:
    """The row may be older than the rule against this URL."""
    federate(*stubs("eu"))
    Region.objects.filter(id="eu").update(url="https://0177.0.0.1")
    regions.clear()

    assert probe("eu")["last_error"] == Reason.MISCONFIGURED
    assert place(503, region="eu")["error"]["code"] == "federation_region_unavailable"


# --- what a request is judged by ------------------------------------------------------------------


def test_patch_is_judged_with_what_is_there_already(stubs: Stubs) -> None:
    eu, other = stubs("eu", "other")
    federate(eu)

    assert patch("eu", url=other.url)["url"] == other.url
    assert patch("eu", 422, allow_insecure=False)["error"]["details"]["field"] == "url"
