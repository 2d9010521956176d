"""Requests to regions: permitted and refused addresses. Spec: contract 23.7."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError
from federation.domain.exchange import HEALTH, Call, Failure, Reply
from federation.domain.reading import read_region
from federation.domain.reasons import Reason
from federation.services.registry import outbound
from federation.services.registry.configure import require_reachable
from tests.federation.stub import Stub
from tests.spec import spec


@pytest.fixture
def leads_to(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets the addresses to which all names resolve."""

    def say(*addresses: str) -> None:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: found)

    return say


def asked(url: str, **members: Any) -> Reply | Failure:
    region = read_region({"id": "eu", "url": url, **members})
    return outbound.send(region, Call("eu", "GET", HEALTH, timeout_s=5))


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "224.0.0.1"]
)
@spec("federation 7")
def test_name_that_leads_to_no_public_address_is_not_asked(
    leads_to: Callable[..., None], address: str, settings: Any
) -> None:
    settings.OJS_FEDERATION = {}
    leads_to("93.184.216.34", address)

    answer = asked("https://eu.example.org")

    assert isinstance(answer, Failure)
    assert answer.fate is Fate.NOT_SENT
    assert answer.reason is Reason.NOT_ALLOWED


def test_private_networks_are_allowed_by_a_setting_and_this_machine_is_not(
    leads_to: Callable[..., None], settings: Any
) -> None:
    settings.OJS_FEDERATION = {"ALLOW_PRIVATE": True}
    leads_to("10.0.0.1")
    assert outbound.address_of("eu.example.org", 443, allow_local=True) == "10.0.0.1"

    for address in (
        "127.0.0.1", "169.254.169.254", "::ffff:169.254.169.254", "::ffff:127.0.0.1",
        "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1",
    ):  # fmt: skip
        leads_to(address)
        with pytest.raises(FederationConfigError, match="not a public address") as refused:
            outbound.address_of("eu.example.org", 443, allow_local=True)
        assert address not in refused.value.message


def test_connection_goes_to_the_address_that_was_judged(
    stubs: Callable[..., list[Stub]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (eu,) = stubs("eu")
    monkeypatch.setattr(outbound, "is_refused", lambda _address: False)
    looked_up: list[str] = []

    def look_up(host: str, port: int, *_rest: object, **_more: object) -> list[Any]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    region = read_region({"id": "eu", "url": f"https://eu.example.org:{eu.port}/base"})
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    answer = outbound.send(region, Call("eu", "GET", HEALTH, timeout_s=5))

    assert isinstance(answer, Failure), "the stub speaks no TLS"
    assert answer.fate is Fate.NOT_SENT
    assert looked_up[0] == "eu.example.org"
    assert set(looked_up[1:]) <= {"127.0.0.1"}


def test_name_that_nobody_knows_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_more: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fail)

    answer = asked("https://nowhere.example.org")

    assert isinstance(answer, Failure)
    assert answer.fate is Fate.NOT_SENT


def test_url_of_this_machine_is_asked_where_the_settings_name_it(
    stubs: Callable[..., list[Stub]], settings: Any
) -> None:
    (eu,) = stubs("eu")
    here = {"id": "eu", "url": eu.url, "allow_insecure": True}
    settings.OJS_FEDERATION = {}

    refused = asked(eu.url, allow_insecure=True)
    settings.OJS_FEDERATION = {"REGIONS": [here]}
    answer = asked(eu.url, allow_insecure=True)

    assert isinstance(refused, Failure)
    assert refused.reason is Reason.NOT_ALLOWED
    assert isinstance(answer, Reply)


def test_url_of_this_machine_is_asked(stubs: Callable[..., list[Stub]]) -> None:
    (eu,) = stubs("eu")

    answer = asked(eu.url, allow_insecure=True)

    assert isinstance(answer, Reply)
    assert answer.status == 200
    assert eu.sent[0][1]["host"] == f"127.0.0.1:{eu.port}"


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "[fd00::1]", "192.168.0.9", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]"]
)
@spec("federation 7")
def test_region_at_a_private_address_is_refused_unless_allowed(host: str, settings: Any) -> None:
    settings.OJS_FEDERATION = {}
    wanted = read_region({"id": "eu", "url": f"https://{host}"})
    with pytest.raises(FederationConfigError, match="public address"):
        require_reachable(wanted)

    settings.OJS_FEDERATION = {"ALLOW_PRIVATE": True}
    require_reachable(wanted)
