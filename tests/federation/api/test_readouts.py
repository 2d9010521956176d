"""The router's data about all regions together. Spec: contract 23.5."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from federation.models import RegionHealth, RegionLoad
from federation.services.registry import regions
from jobs.queries import now
from tests.federation.stub import Stub
from tests.federation.wire import federate
from tests.jobs.api.conftest import new_key, with_keys

__all__ = ["new_key", "with_keys"]
pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]


def read(name: str, status: int = 200, **headers: str) -> Any:
    answer = Client(headers=headers).get(f"/ojs/federation/{name}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_backends_are_the_servers_of_all_regions(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    RegionHealth.objects.filter(region="eu").update(
        status="healthy", checked_at=now(), ewma_ms=12.4
    )
    regions.clear()

    found = read("backends")

    assert found["federation_id"] == "default"
    assert [one["id"] for one in found["backends"]] == ["eu", "us"]
    told = found["backends"][0]
    assert (told["url"], told["status"], told["latency_ms"]) == (eu.region().url, "healthy", 12)
    assert (told["weight"], told["drain"], told["is_local"]) == (1, False, False)
    assert found["backends"][1]["is_local"]
    assert "auth" not in told


def test_statistics_add_up_what_was_counted(stubs: Stubs) -> None:
    federate(*stubs("eu", "ap"))
    for region, available, active in (("eu", 5, 2), ("us", 10, 1)):
        RegionLoad.objects.create(region_id=region, available=available, active=active, at=now())
    regions.clear()

    found = read("stats")

    assert (found["jobs"], found["counted_regions"]) == ({"available": 15, "active": 3}, 2)
    assert (found["healthy_regions"], found["total_regions"]) == (0, 3)
    by_id = {one["id"]: one for one in found["regions"]}
    assert by_id["ap"]["jobs"] is None
    assert by_id["ap"]["counted_at"] is None
    assert by_id["eu"]["jobs"] == {"available": 5, "active": 2}
    assert by_id["eu"]["counted_at"] is not None


def test_server_without_a_federation_has_none() -> None:
    assert read("backends")["backends"] == []
    assert read("stats")["jobs"] == {"available": 0, "active": 0}


@pytest.mark.parametrize("name", ["backends", "stats"])
def test_they_take_an_operator_of_all_tenants(
    name: str, new_key: Callable[..., dict[str, str]]
) -> None:
    read(name, 401)
    read(name, 403, **new_key("ojs:data:read"))
    read(name, 403, **new_key("ojs:admin:read", tenant="a"))
    read(name, 200, **new_key("ojs:admin:read"))
