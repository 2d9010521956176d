"""Find the address for a connection to a host that somebody else named. Spec: contract 26.2, 23.7.

Every outbound request of the server takes its address from here: the name is resolved once, every
address of it is judged, and the connection goes to one of those. A second look-up cannot lead
elsewhere.
"""

import socket
from collections.abc import Callable
from ipaddress import ip_address

from jobs.domain.address import Address

Judge = Callable[[Address], bool]  # whether nothing may be sent to an address


class Refused(Exception):
    """The host has an address that nothing may be sent to. The message does not name it."""


def resolve(host: str, port: int, is_refused: Judge) -> str:
    """Return an address of a host. Raises Refused, OSError and UnicodeError.

    The error names the host alone: an address of the internal network is nobody's business.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if any(is_refused(ip_address(address.partition("%")[0])) for address in addresses):
        raise Refused(f"{host} does not lead to a public address")
    return addresses[0]
