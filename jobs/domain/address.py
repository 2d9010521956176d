"""Where requests may be sent that others asked for: the form of a URL, refused addresses.

Spec: contract 26.2, 23 §7.

A name is only judged by its addresses, when a connection is made: what it resolves to may change.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

MAX_URL: Final = 2048
MAX_PORT: Final = 65_535
PORTS: Final = {"https": 443, "http": 80}
NAT64: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL that a connection needs."""

    scheme: str
    host: str
    port: int


def read_target(url: str, *, allow_http: bool) -> Target:
    """Return the parts of a URL. Raises ValueError saying what is wrong with it."""
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


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is, None when it is a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_private(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address is not one of the public internet, also inside another address."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or _nat64(address)
        if inner is not None:
            return is_private(inner)
        if address.teredo is not None or address.is_site_local:
            return True
    return not address.is_global or address.is_multicast


def _nat64(address: IPv6Address) -> IPv4Address | None:
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None


def is_local_name(host: str) -> bool:
    """Tell whether a name can only be this machine's, without asking anybody."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")
