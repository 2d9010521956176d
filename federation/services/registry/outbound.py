"""Send requests to regions, outside any transaction. Spec: contract 23.7.

Each region has its own connections, which are replaced when its entry in the registry changes.
"""

import logging
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings

from federation.conf import conf
from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError, RefusedAddress, UnreadableSecret
from federation.domain.exchange import Call, Failure, Reply
from federation.domain.reasons import Reason
from federation.domain.region import Region, is_loopback
from federation.services.registry.registry import stated
from jobs.conf import read_anew
from jobs.domain.outbound import address
from jobs.services.outbound.resolve import Refused, resolve

if TYPE_CHECKING:
    from federation.transport import Transport

logger = logging.getLogger("ojs.federation")

TIMEOUT_S = 10.0
ALLOWED_BY = "see OJS_FEDERATION_ALLOW_PRIVATE"


def send(region: Region, call: Call) -> Reply | Failure:
    """Make a call; errors are returned, not raised, and contain no secret."""
    try:
        transport = _Transports.of(region)
    except FederationConfigError as problem:
        if isinstance(problem, UnreadableSecret):  # of the settings: the operator can fix it
            facts = {"region": region.id, "problem": problem.message}
            logger.error("federation.secret_unreadable", extra=facts)  # noqa: TRY400
        return Failure(Fate.NOT_SENT, problem.reason)
    try:
        return transport.send(call)
    except RuntimeError:  # closed meanwhile: a retry gets the new connections
        return Failure(Fate.AMBIGUOUS, Reason.CHANGED, is_own=True)
    except Exception:  # one region must neither end the loops nor fail the jobs of others
        logger.exception("federation.call_failed", extra={"region": region.id})
        return Failure(Fate.AMBIGUOUS, Reason.FAULT)


class _Transports:
    """Connections of this process, by the entry of their region."""

    by_id: ClassVar[dict[str, tuple[Region, "Transport"]]] = {}
    lock: ClassVar[Lock] = Lock()

    @classmethod
    def of(cls, region: Region) -> "Transport":
        """Return the connections of a region's present entry. Raises FederationConfigError."""
        known = cls.by_id.get(region.id)
        if known is not None and known[0] == region:
            return known[1]
        with cls.lock:
            # with httpx, which a process without calls to regions does not need
            from federation.transport import Transport  # noqa: PLC0415

            find = partial(address_of, allow_local=may_be_local(region))
            made = Transport([region], timeout_s=TIMEOUT_S, debug=settings.DEBUG, resolve=find)
            before = cls.by_id.get(region.id)
            cls.by_id[region.id] = region, made
            if before is not None:
                before[1].close()
            return made

    @classmethod
    def cache_clear(cls) -> None:
        """Close all connections."""
        with cls.lock:
            for _, transport in cls.by_id.values():
                transport.close()
            cls.by_id.clear()


def may_be_local(region: Region) -> bool:
    """Return whether a region may be on this machine: a region of the settings may."""
    known = stated().get(region.id)
    return conf().allow_private or (known is not None and known.url == region.url)


def address_of(host: str, port: int, *, allow_local: bool) -> str:
    """Resolve the host of a region. Raises OSError, and RefusedAddress for a refused address.

    A name must not resolve to this machine or to a private network unless that is allowed. A URL
    that names this machine itself is allowed with `allow_local`.
    """
    if is_loopback(host):
        if not allow_local:
            raise RefusedAddress.field("url", f"must not be on this machine: {ALLOWED_BY}")
        return host
    try:
        return resolve(host, port, is_refused).partition("%")[0]
    except Refused:
        raise RefusedAddress.field(
            "url", f"leads to an address that is not a public address: {ALLOWED_BY}"
        ) from None


def is_refused(one: address.Address) -> bool:
    """Return whether no region may have an address."""
    if address.is_loopback(one) or address.is_nowhere(one):
        return True
    return address.is_private(one) and not conf().allow_private


read_anew(_Transports, setting="OJS_FEDERATION")
