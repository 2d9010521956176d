"""Resolve and judge the address of a host that a caller named. Spec: contract 26.2, 23.7.

Every outbound request of the server takes its address from here. The name is resolved once, every
address of it is judged, and the connection goes to one of these addresses. So a second look-up
cannot lead to another host.
"""

import socket
from collections.abc import Callable
from ipaddress import ip_address

from jobs.domain.outbound.address import Address

Judge = Callable[[Address], bool]  # whether requests to an address are forbidden


class Refused(Exception):
    """The host has a forbidden address. The message does not name the address."""


def resolve(host: str, port: int, is_refused: Judge) -> str:
    """Return an address of a host. Raises Refused, OSError and UnicodeError.

    The error names the host alone: it must not reveal addresses of the internal network.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if any(is_refused(ip_address(address.partition("%")[0])) for address in addresses):
        raise Refused(f"{host} does not lead to a public address")
    return addresses[0]
