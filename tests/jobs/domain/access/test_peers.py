"""Proxies that the server trusts for a client's address. Spec: contract 31.4."""

import pytest

from jobs.domain.access.peers import client_of, is_within, networks

TRUSTED = networks(("10.0.0.0/8", "192.0.2.1", "fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.1.2.3", "203.0.113.9", "203.0.113.9"),
        ("10.1.2.3", "203.0.113.9, 10.9.9.9", "203.0.113.9"),  # through two proxies
        # the client invented the first address
        ("10.1.2.3", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.1.2.3", "10.7.7.7", "10.7.7.7"),  # a client in the trusted network
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # the peer is not trusted
        ("fd00::1", "[2001:db8::5]:4711", "2001:db8::5"),
        ("192.0.2.1", "203.0.113.9:4711", "203.0.113.9"),
        ("192.0.2.2", "203.0.113.9", "192.0.2.2"),
        ("::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9"),
        # "unknown" is not an address and ends the chain
        ("10.1.2.3", "203.0.113.9, unknown", "10.1.2.3"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("", "203.0.113.9", ""),
    ],
)
def test_the_client_is_the_first_address_that_no_trusted_peer_vouches_past(
    peer: str, forwarded: str, client: str
) -> None:
    assert client_of(peer, [forwarded], TRUSTED) == client


def test_headers_sent_several_times_count_in_order() -> None:
    assert client_of("10.0.0.1", ["203.0.113.9", "10.0.0.2"], TRUSTED) == "203.0.113.9"


@pytest.mark.parametrize("text", ["", "no", "10.0.0.256", "10.0.0.1/8", "[::1", "fe80::1%eth0"])
def test_what_is_no_address_is_in_no_network(text: str) -> None:
    assert is_within(text, TRUSTED) is False


def test_a_wrong_network_is_named() -> None:
    with pytest.raises(ValueError, match="10\\.0\\.0\\.1/8"):
        networks(("10.0.0.1/8",))
