"""Refused URLs and addresses of webhooks. Spec: contract 26.2, URL policy."""

from ipaddress import ip_address

import pytest

from jobs.domain.outbound.address import (
    is_local_name,
    is_loopback,
    is_nowhere,
    is_private,
    read_target,
)
from tests.spec import spec

PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",  # noqa: S104
    "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::",
    "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fec0::1", "2001:db8::1",
    "64:ff9b:1::a00:1", "64:ff9b:1::101:101", "64:ff9b::a9fe:a9fe", "::10.0.0.1", "::1.1.1.1",
    "::ffff:0:10.0.0.1", "::ffff:169.254.169.254", "2002:101:101::", "2002:a9fe:a9fe::",
    "2001:0:101:101::1", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "192.88.99.1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]


@pytest.mark.parametrize("address", PRIVATE)
@spec("contract 26.2")
def test_an_address_inside_a_network_is_private(address: str) -> None:
    assert is_private(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
@spec("contract 26.2")
def test_an_address_of_the_internet_is_not_private(address: str) -> None:
    assert not is_private(ip_address(address))


# no setting allows these: cloud metadata services may answer there
METADATA = [
    "169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe", "::169.254.169.254", "2002:a9fe:a9fe::1", "::ffff:0:169.254.169.254",
    "2606:4700::5efe:a9fe:a9fe", "0.0.0.0", "::", "::ffff:0.0.0.0", "ff02::1", "224.0.0.1",  # noqa: S104
]  # fmt: skip


@pytest.mark.parametrize("address", METADATA)
@spec("contract 23.7")
def test_no_server_is_at_an_address_that_leads_to_metadata(address: str) -> None:
    assert is_nowhere(ip_address(address))


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "127.0.0.1", "::1", *PUBLIC])
@spec("contract 23.7")
def test_a_server_may_be_at_any_other_address(address: str) -> None:
    assert not is_nowhere(ip_address(address))


@pytest.mark.parametrize("address", ["127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])
@spec("contract 23.7")
def test_this_machine_is_known_by_any_of_its_addresses(address: str) -> None:
    assert is_loopback(ip_address(address))


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST.", "a.localhost", "localhost."])
@spec("contract 26.2")
def test_local_names_are_known(name: str) -> None:
    assert is_local_name(name)


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "ftp://example.org", "https://", "http://example.org", "https://a b/",
        "https://user@example.org/", "https://user:pw@example.org/", "https://example.org/#x",
        "https://example.org:0/", "https://example.org:99999/", "https://[::1/", "https://é.example/",
        "https://example.org/" + "x" * 2048, "https:///x", "//example.org", "https://a\n.example",
    ],
)  # fmt: skip
@spec("contract 26.2")
def test_what_is_no_https_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        read_target(url, allow_http=False)


@spec("contract 26.2")
def test_http_is_taken_where_it_is_allowed() -> None:
    target = read_target("http://example.org:8080/x?y", allow_http=True)

    assert (target.scheme, target.host, target.port) == ("http", "example.org", 8080)
