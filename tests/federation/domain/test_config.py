"""Valid and invalid configurations. Spec: contract 23.2, 23.7."""

from typing import Any

import pytest

from federation.domain.config import FederationConfig
from federation.domain.errors import FederationConfigError, InvalidFederationMeta
from federation.domain.latency import averaged
from federation.domain.meta import (
    FEDERATION_ID,
    REGION,
    read_meta,
    stamped,
)
from federation.domain.reading import read_config, read_region
from federation.domain.region import Region
from tests.spec import spec

US = {"id": "us", "url": "https://us.example"}


def read(**members: Any) -> FederationConfig:
    """Read a configuration of the region us, or of the given regions."""
    return read_config({"local_region": "us", "regions": [US], **members})


@spec("FED-4.1-c")
def test_and_the_defaults_of_the_contract() -> None:
    found = read()

    (region,) = found.regions
    assert (region.weight, region.tags, region.enabled, region.drain) == (1, (), True, False)
    assert (found.topology, found.default_strategy) == ("mesh", "affinity")
    assert (found.health_check.interval_seconds, found.health_check.timeout_seconds) == (10, 5)
    assert found.load_interval_seconds == 10, "FED-3.2-b"
    assert found.circuit_breaker.failure_threshold == 5
    assert found.circuit_breaker.cooldown_seconds == 30
    assert (found.failover.enabled, found.failover.max_redirects) == (True, 3)
    replication = found.replication
    assert (replication.enabled, replication.mode, replication.batch) == (
        False, "metadata-only", 500,
    )  # fmt: skip


def test_other_spellings_are_read_and_the_probe_count_is_not() -> None:
    found = read(
        circuit_breaker={"open_after_failures": 7, "half_open_after_seconds": 9, "probe_count": 3}
    )

    assert found.circuit_breaker.failure_threshold == 7
    assert found.circuit_breaker.cooldown_seconds == 9


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"local_region": "mars"}, "local_region"),
        ({"local_region": None}, "local_region"),
        ({"regions": []}, "regions"),
        ({"regions": [US, US]}, "regions[1].id"),
        ({"regions": "us"}, "regions"),
        ({"regions": [1]}, "regions[0].region"),
        ({"regions": [{"id": "us"}]}, "regions[0].url"),
        ({"regions": [{**US, "wait": 1}]}, "regions[0].wait"),
        ({"regions": [{**US, "auth": {"kind": "basic"}}]}, "regions[0].auth.kind"),
        ({"topology": "ring"}, "topology"),
        ({"topology": []}, "topology"),
        ({"topology": "hub-spoke"}, "regions"),
        ({"default_strategy": "geo-pin"}, "default_strategy"),
        ({"default_strategy": "weighted"}, "default_strategy"),
        ({"default_strategy": ["affinity"]}, "default_strategy"),
        ({"health_check": []}, "health_check"),
        ({"health_check": {"interval_seconds": 0}}, "health_check.interval_seconds"),
        ({"health_check": {"interval_seconds": True}}, "health_check.interval_seconds"),
        ({"health_check": {"interval_seconds": 10**400}}, "health_check.interval_seconds"),
        ({"health_check": {"timeout_seconds": "5"}}, "health_check.timeout_seconds"),
        ({"health_check": {"retries": 5}}, "health_check.retries"),
        ({"load_interval_seconds": float("nan")}, "load_interval_seconds"),
        ({"circuit_breaker": {"failure_threshold": 0}}, "circuit_breaker.failure_threshold"),
        ({"circuit_breaker": {"failure_threshold": 1, "open_after_failures": 1}},
         "circuit_breaker.open_after_failures"),
        ({"failover": {"max_redirects": 99}}, "failover.max_redirects"),
        ({"failover": {"enabled": 1}}, "failover.enabled"),
        ({"failover": {"prefer_regions": ["mars"]}}, "failover.prefer_regions"),
        ({"failover": {"prefer_regions": [None]}}, "failover.prefer_regions[0]"),
        ({"failover": {"exclude_regions": ["us"]}}, "failover.exclude_regions"),
        ({"replication": {"mode": "half"}}, "replication.mode"),
        ({"replication": {"batch": 0}}, "replication.batch"),
        ({"extended_strategies": "yes"}, "extended_strategies"),
        ({"federation_id": "Ü"}, "federation_id"),
        ({"failover": {"prefer_regions": "us"}}, "failover.prefer_regions"),
        ({"failover": {"prefer_regions": ["us"] * 300}}, "failover.prefer_regions"),
        ({"debug": 1}, "debug"),
    ],
)  # fmt: skip
def test_a_wrong_member_is_named(members: dict[str, Any], field: str) -> None:
    with pytest.raises(FederationConfigError) as refused:
        read(**members)

    assert refused.value.details["field"] == field
    assert refused.value.message.startswith(field)
    assert refused.value.status == 422


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(FederationConfigError):
        read_config(value)
    with pytest.raises(FederationConfigError):
        read_region(value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://us.example", "must use https"),
        ("https://user:secret-word@us.example", "must not contain credentials"),
        ("https://us.example?x=1", "neither a query nor a fragment"),
        ("https://us.example/#a", "neither a query nor a fragment"),
        ("https://us.example:99999", "must be a URL"),
        ("https://us.example:0", "must name a port"),
        ("https://[::1", "must be a URL"),
        ("https://", "must be an absolute URL"),
        ("//us.example", "must be an absolute URL"),
        ("ftp://us.example", "must be an absolute URL"),
        ("https://us example", "spaces"),
        ("https://us.example\\@evil", "backslashes"),
        ("https://ü.example", "ASCII"),
        ("https://169.254.169.254", "link-local"),
        ("https://[::ffff:169.254.169.254]", "link-local"),
        ("https://0.0.0.0", "unspecified"),
        ("https://" + "a" * 3000, "at most 2048"),
        (None, "must be a URL"),
    ],
)
@spec("FED-7.1-a")
def test_urls_are_https_without_secrets(url: Any, problem: str) -> None:
    with pytest.raises(FederationConfigError, match=problem) as refused:
        Region("us", url)

    assert "secret-word" not in str(refused.value.details)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.3:81", "[::1]:8000", "localhost", "a.localhost"]
)
@spec("FED-7.1-a")
def test_plain_http_is_for_this_machine_only(host: str) -> None:
    region = Region("us", f"http://{host}/", allow_insecure=True)

    assert FederationConfig("us", (region,)).regions[0].url == f"http://{host}"


@spec("FED-7.1-a")
def test_plain_http_beyond_this_machine_needs_debug() -> None:
    region = Region("us", "http://us.example", allow_insecure=True)

    with pytest.raises(FederationConfigError, match="this machine only"):
        FederationConfig("us", (region,))
    assert FederationConfig("us", (region,), debug=True).debug


@pytest.mark.parametrize(
    "member",
    [
        {"id": "Us"}, {"id": "1us"}, {"id": ""}, {"id": "a" * 65}, {"id": "us\n"}, {"id": None},
        {"weight": -1}, {"weight": 1.5}, {"weight": True}, {"weight": 2**40},
        {"tags": "gpu"}, {"tags": [1]}, {"tags": [""]}, {"tags": ["a\0"]}, {"tags": ["a"] * 65},
        {"max_queue_depth": -1}, {"enabled": 1}, {"is_hub": None}, {"drain": "no"},
    ],
)  # fmt: skip
def test_regions_are_checked(member: dict[str, Any]) -> None:
    with pytest.raises(FederationConfigError) as refused:
        read_region({**US, **member})

    assert str(refused.value.details["field"]).startswith(next(iter(member)))


# --- meta -----------------------------------------------------------------------------------------


def test_stamps_leave_what_the_caller_set_but_not_nothing() -> None:
    found = stamped(
        {"a": 1, REGION: None, FEDERATION_ID: "mine"}, federation_id="ours", region="eu"
    )

    assert found == {"a": 1, FEDERATION_ID: "mine", REGION: "eu"}


@pytest.mark.parametrize(
    "value",
    [{}, [], {"us": -1}, {"us": "1"}, {"us": True}, {"us": float("nan")}, {"us": 10**400}, {1: 1}],
)
def test_weights_are_checked(value: object) -> None:
    with pytest.raises(Exception, match="weights"):
        read_meta({"ojs.federation.weights": value})


@pytest.mark.parametrize("value", ["gpu", [1], [""], {"gpu": True}, ["a"] * 65])
def test_tags_are_checked(value: object) -> None:
    with pytest.raises(InvalidFederationMeta, match=r"meta\.ojs\.federation\.tags"):
        read_meta({"ojs.federation.tags": value})


@pytest.mark.parametrize("value", [1, [], {}, True])
def test_an_affinity_is_a_text(value: object) -> None:
    with pytest.raises(Exception, match="must be a text"):
        read_meta({"ojs.federation.region_affinity": value})


def test_latency_is_averaged_with_three_tenths_of_the_newest() -> None:
    assert averaged(None, 50) == 50
    assert averaged(50, 100) == pytest.approx(65)
