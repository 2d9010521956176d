"""Ask regions, outside any transaction. Spec: contract 23 §7.

Each region has connections of its own, made anew when its entry in the registry changes.
"""

from functools import lru_cache

from django.conf import settings

from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError
from federation.domain.exchange import Call, Failure, Reply
from federation.domain.region import Region
from federation.transport import Transport

MOST = 512  # twice as many as a registry has regions
TIMEOUT_S = 10.0


def send(region: Region, call: Call) -> Reply | Failure:
    """Make a call; whatever goes wrong is returned, not raised, and holds no secret."""
    try:
        transport = _transport(region)
    except FederationConfigError as problem:  # a token or a certificate that is not there
        return Failure(Fate.NOT_SENT, problem.message)
    return transport.send(call)


@lru_cache(MOST)
def _transport(region: Region) -> Transport:
    return Transport([region], timeout_s=TIMEOUT_S, debug=settings.DEBUG)


def forget() -> None:
    """End all connections: secrets and certificates are read anew."""
    _transport.cache_clear()
