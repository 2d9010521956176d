"""The registry: regions of settings and operators, and its rules. Spec: contract 23.2."""

from typing import Any

import pytest

from federation.domain.errors import FederationConfigError, NotFederated
from federation.domain.reading import read_given_auth, read_region
from federation.models import FederationConfig, Region, RegionHealth
from federation.services.registry import regions
from federation.services.registry.configure import (
    apply_settings,
    delete_region,
    put_configuration,
    put_region,
    set_drain,
)
from federation.services.registry.regions import registry
from jobs.domain.errors import Conflict, NotFound
from jobs.models import Audit
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

US: dict[str, Any] = {"id": "us", "url": "https://us.example.org"}
EU: dict[str, Any] = {"id": "eu", "url": "https://eu.example.org", "tags": ["gdpr"]}
TOKEN = "a-token-of-eu"  # noqa: S105 - of a test


def register(*regions: dict[str, Any]) -> None:
    for one in regions:
        put_region(read_region(one))


def test_server_without_a_configuration_belongs_to_no_federation() -> None:
    found = registry()

    assert found.config is None
    with pytest.raises(NotFederated, match="no federation"):
        _ = found.configured


@spec("FED-4.1-a")
def test_regions_of_the_settings_are_registered(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US, EU]}
    regions.clear()

    found = registry()

    assert list(found.regions) == ["eu", "us"]
    assert found.local_region == "us"
    assert [one.id for one in found.peers] == ["eu"]
    assert set(Region.objects.values_list("source", flat=True)) == {"static"}
    assert RegionHealth.objects.count() == 2


@spec("FED-4.1-c")
def test_region_has_weight_1_and_no_tags_unless_it_says_so() -> None:
    register(US)

    assert (registry().regions["us"].weight, registry().regions["us"].tags) == (1, ())


def test_what_operators_changed_stays_until_the_settings_change(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US, EU]}
    assert apply_settings() == 2
    set_drain("eu", drain=True)

    assert apply_settings() == 0
    assert registry().regions["eu"].drain

    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US, {**EU, "weight": 5}]}
    assert apply_settings() == 1
    assert not registry().regions["eu"].drain


def test_region_that_left_the_settings_is_an_operators_from_then_on(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US, EU]}
    apply_settings()
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US]}

    apply_settings()

    delete_region("eu")
    assert list(registry().regions) == ["us"]


@spec("FED-4.1-b")
def test_change_is_seen_by_this_process_at_once() -> None:
    register(US)
    put_configuration({})
    assert registry().peers == []

    register(EU)

    assert [one.id for one in registry().peers] == ["eu"]
    assert FederationConfig.objects.get().version == 3


@spec("FED-2.1-a")
def test_hub_spoke_without_a_hub_is_refused() -> None:
    register(US, EU)

    with pytest.raises(FederationConfigError, match="exactly one hub"):
        put_configuration({"topology": "hub-spoke"})

    assert registry().configured.topology == "mesh"


@spec("FED-2.1-a")
def test_second_hub_is_refused_and_the_last_one_stays(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "eu"}
    register({**US, "is_hub": True}, EU)
    put_configuration({"topology": "hub-spoke"})

    with pytest.raises(FederationConfigError, match="exactly one hub"):
        register({"id": "ap", "url": "https://ap.example.org", "is_hub": True})
    with pytest.raises(FederationConfigError, match="exactly one hub"):
        delete_region("us")

    assert list(registry().regions) == ["eu", "us"]


def test_local_region_and_those_of_the_settings_are_not_deleted(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [US, EU]}
    apply_settings()

    with pytest.raises(Conflict, match="is the local region"):
        delete_region("us")
    with pytest.raises(Conflict, match="in the settings"):
        delete_region("eu")
    with pytest.raises(NotFound):
        delete_region("ap")


@spec("FED-7.1-a")
def test_plain_http_is_for_this_machine_only() -> None:
    with pytest.raises(FederationConfigError, match="https"):
        register({"id": "us", "url": "http://us.example.org", "allow_insecure": True})
    with pytest.raises(FederationConfigError, match="https"):
        register({"id": "us", "url": "http://127.0.0.1:1"})

    register({"id": "us", "url": "http://127.0.0.1:1", "allow_insecure": True})
    assert Region.objects.get().url == "http://127.0.0.1:1"


def test_operators_register_no_region_on_this_machine_unless_it_is_allowed(settings: Any) -> None:
    """Otherwise an admin of regions could reach services that listen only for this machine."""
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us"}
    here = {"url": "http://localhost:5432", "allow_insecure": True}

    with pytest.raises(FederationConfigError, match="OJS_FEDERATION_ALLOW_PRIVATE"):
        register({"id": "eu", **here})
    settings.OJS_FEDERATION = {"LOCAL_REGION": "us", "REGIONS": [{"id": "us", **here}]}

    assert apply_settings() == 1


def test_configuration_that_names_unknown_regions_is_refused() -> None:
    register(US)

    with pytest.raises(FederationConfigError, match="registered"):
        put_configuration({"failover": {"prefer_regions": ["eu"]}})
    with pytest.raises(FederationConfigError, match="debug"):
        put_configuration({"debug": True})


def test_configuration_waits_for_the_local_region(settings: Any) -> None:
    settings.OJS_FEDERATION = {"LOCAL_REGION": "ap"}
    register(US)

    with pytest.raises(FederationConfigError, match="local_region must be registered first"):
        put_configuration({})
    with pytest.raises(FederationConfigError, match="topology"):
        put_configuration({"topology": "star"})

    assert registry().problem == "the local region 'ap' is not registered"


def test_local_region_that_was_set_over_the_api_counts_no_more(settings: Any) -> None:
    settings.OJS_FEDERATION = {}
    register(US, EU)
    FederationConfig.objects.filter(id=1).update(said={"local_region": "us", "topology": "mesh"})
    regions.clear()

    assert registry().config is None
    assert "set it in the settings" in registry().problem
    with pytest.raises(FederationConfigError, match="OJS_FEDERATION_LOCAL_REGION"):
        put_configuration({"topology": "mesh"})

    settings.OJS_FEDERATION = {"LOCAL_REGION": "eu"}
    regions.clear()
    assert registry().local_region == "eu"


def test_changes_are_audited_without_secrets() -> None:
    put_region(read_region({**EU, "auth": {"kind": "bearer", "token": TOKEN}}, read_given_auth))
    set_drain("eu", drain=True)

    found = list(Audit.objects.order_by("id").values_list("action", "target"))
    assert found == [("federation.region_configured", "eu"), ("federation.region_drained", "eu")]
    assert TOKEN not in str(list(Audit.objects.values_list("data", flat=True)))
