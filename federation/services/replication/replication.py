"""Whether and how this server replicates. Spec: contract 23.2, 23.6."""

from collections.abc import Sequence
from dataclasses import dataclass

from federation.domain.config import Replication
from federation.domain.errors import NotFederated
from federation.domain.region import Region
from federation.services.registry.regions import registry


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds while replication is on."""

    local: str  # the region that this server is
    rules: Replication
    peers: Sequence[Region]


def terms() -> Terms | None:
    """Return what holds, None where replication is off."""
    found = registry()
    if found.config is None or not found.config.replication.enabled:
        return None
    config = found.config
    return Terms(config.local_region, config.replication, found.peers)


def required() -> Terms:
    """Return what holds. Raises NotFederated where replication is off."""
    found = terms()
    if found is None:
        registry().configured  # noqa: B018 - says what is wrong with the federation as a whole
        raise NotFederated("replication is not enabled here")
    return found
