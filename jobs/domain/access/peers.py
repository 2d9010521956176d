"""Find the client's address of a request behind trusted proxies. Spec: contract 31.4."""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

BRACKETED: Final = re.compile(r"\[([^\]]*)\](:\d{1,5})?", re.ASCII)  # IPv6, perhaps with a port
WITH_PORT: Final = re.compile(r"([\d.]+):\d{1,5}", re.ASCII)


@lru_cache(maxsize=16)
def networks(texts: tuple[str, ...]) -> Networks:
    """Read addresses and networks, such as `10.0.0.0/8`. Raises ValueError naming a wrong one."""
    return tuple(ip_network(text) for text in texts)


@lru_cache(maxsize=4096)
def is_within(text: str, trusted: Networks) -> bool:
    """Return whether an address is in one of the networks; False for text that is no address."""
    address = _read(text)
    return address is not None and any(address in network for network in trusted)


def client_of(peer: str, forwarded: Iterable[str], trusted: Networks) -> str:
    """Return the address of the client behind trusted proxies.

    `forwarded` are the values of X-Forwarded-For, the nearest proxy's last. Each entry was written
    by the peer after it. So entries are trusted from the end for as long as these peers are
    trusted; the entries before them may be forged.
    """
    client = peer
    for entry in reversed([part for value in forwarded for part in value.split(",")]):
        address = _read(entry) if is_within(client, trusted) else None
        if address is None:
            break
        client = str(address)
    return client


def _read(text: str) -> Address | None:
    """Read an address, perhaps with a port; IPv4 in IPv6 counts as IPv4."""
    bare = text.strip()
    match = BRACKETED.fullmatch(bare) or WITH_PORT.fullmatch(bare)
    try:
        address = ip_address(match[1] if match else bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
