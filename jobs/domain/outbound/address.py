"""Judge where requests may be sent: the form of a URL, and refused addresses.

Spec: contract 26.2, 23.7.

A name is judged by its addresses when a connection is made, since its addresses may change.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

MAX_URL: Final = 2048
MAX_PORT: Final = 65_535
PORTS: Final = {"https": 443, "http": 80}
Address = IPv4Address | IPv6Address
# IPv6 networks whose last 32 bits are the IPv4 address that packets go to
WRAPPERS: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0/96"))  # NAT64, IPv4-mapped
# Addresses that lead into other networks through gateways unknown to this server; no server has
# such an address
TUNNELS: Final = (
    IPv6Network("64:ff9b:1::/48"),  # local NAT64, RFC 8215
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated
    IPv6Network("2001::/32"),  # Teredo
    IPv6Network("2002::/16"),  # 6to4
    IPv6Network("fec0::/10"),  # site-local
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
)
ISATAP: Final = {0x00005EFE, 0x02005EFE}  # bits 64 to 95 of its addresses


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL that a connection needs."""

    scheme: str
    host: str
    port: int


def read_target(url: str, *, allow_http: bool) -> Target:
    """Return the parts of a URL. Raises ValueError with the problem."""
    if len(url) > MAX_URL or not url.isascii() or any(one <= " " or one == "\x7f" for one in url):
        raise ValueError(f"must be at most {MAX_URL} ASCII characters without spaces")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("must be a URL") from None
    if parts.scheme not in PORTS or not host:
        raise ValueError("must be an absolute URL such as https://example.org/hooks")
    if parts.scheme == "http" and not allow_http:
        raise ValueError("must use https")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("must have neither credentials nor a fragment")
    if port is not None and not 1 <= port <= MAX_PORT:
        raise ValueError("must name a port from 1 to 65535")
    return Target(parts.scheme, host, port or PORTS[parts.scheme])


def literal(host: str) -> Address | None:
    """Return the address that a host is, None when it is a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_private(address: Address) -> bool:
    """Return whether an address, or the address that it wraps, is outside the public internet."""
    return is_nowhere(address) or not _unwrapped(address).is_global


def is_loopback(address: Address) -> bool:
    """Return whether an address, or the address that it wraps, is this machine."""
    return _unwrapped(address).is_loopback


def is_nowhere(address: Address) -> bool:
    """Return whether an address, or the address that it wraps, belongs to no server.

    Cloud metadata services are at link-local addresses.
    """
    one = _unwrapped(address)
    return (
        one.is_link_local or one.is_multicast or one.is_unspecified
        or (not one.is_loopback and _is_tunnel(one))
    )  # fmt: skip


def _is_tunnel(address: Address) -> bool:
    is_isatap = isinstance(address, IPv6Address) and int(address) >> 32 & 0xFFFFFFFF in ISATAP
    return is_isatap or any(address in network for network in TUNNELS)


def _unwrapped(address: Address) -> Address:
    if any(address in network for network in WRAPPERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_local_name(host: str) -> bool:
    """Return whether a name can only be this machine's, without a look-up."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")
