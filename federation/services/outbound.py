"""Ask regions, outside any transaction. Spec: contract 23 §7.

Each region has connections of its own, made anew when its entry in the registry changes.
"""

from threading import Lock
from typing import ClassVar

from django.conf import settings

from federation.conf import conf
from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError
from federation.domain.exchange import Call, Failure, Reply
from federation.domain.region import Region, is_loopback
from federation.transport import Transport
from jobs.conf import read_anew
from jobs.domain import address
from jobs.services.resolve import Refused, resolve

TIMEOUT_S = 10.0
ALLOWED_BY = "see OJS_FEDERATION_ALLOW_PRIVATE"


def send(region: Region, call: Call) -> Reply | Failure:
    """Make a call; whatever goes wrong is returned, not raised, and holds no secret."""
    try:
        transport = _Transports.of(region)
    except FederationConfigError as problem:  # a token or a certificate that is not there
        return Failure(Fate.NOT_SENT, problem.message)
    try:
        return transport.send(call)
    except RuntimeError:  # closed meanwhile: whoever asks again has the new connections
        return Failure(Fate.AMBIGUOUS, "the entry of the region was changed", is_own=True)


class _Transports:
    """Connections of this process, by the entry of their region."""

    by_id: ClassVar[dict[str, tuple[Region, Transport]]] = {}
    lock: ClassVar[Lock] = Lock()

    @classmethod
    def of(cls, region: Region) -> Transport:
        """Return the connections of a region as it is now. Raises FederationConfigError."""
        known = cls.by_id.get(region.id)
        if known is not None and known[0] == region:
            return known[1]
        with cls.lock:
            made = Transport(
                [region], timeout_s=TIMEOUT_S, debug=settings.DEBUG, resolve=address_of
            )
            before = cls.by_id.get(region.id)
            cls.by_id[region.id] = region, made
            if before is not None:
                before[1].close()
            return made

    @classmethod
    def cache_clear(cls) -> None:
        """End all connections."""
        with cls.lock:
            for _, transport in cls.by_id.values():
                transport.close()
            cls.by_id.clear()


def address_of(host: str, port: int) -> str:
    """Resolve the host of a region. Raises OSError, and FederationConfigError for a refused one.

    A name must not lead to this machine or a network that is not public unless that is allowed; a
    URL that says itself that it is this machine does.
    """
    if is_loopback(host):
        return host
    try:
        return resolve(host, port, is_refused).partition("%")[0]
    except Refused as problem:
        raise FederationConfigError.field("url", f"is refused: {problem}, {ALLOWED_BY}") from None


def is_refused(one: address.Address) -> bool:
    """Tell whether no region may be at an address."""
    if address.is_loopback(one) or address.is_nowhere(one):
        return True
    return address.is_private(one) and not conf().allow_private


read_anew(_Transports, setting="OJS_FEDERATION")
