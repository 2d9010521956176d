"""The replication of this server: whether it is on, and its rules. Spec: contract 23.2, 23.6."""

from collections.abc import Sequence
from dataclasses import dataclass

from federation.domain.config import Replication
from federation.domain.errors import NotFederated
from federation.domain.region import Region
from federation.services.registry.regions import registry


@dataclass(frozen=True, slots=True)
class ReplicationConfig:
    """The region, the peers and the rules while replication is on."""

    local: str  # this server's region
    rules: Replication
    peers: Sequence[Region]


def replication_config() -> ReplicationConfig | None:
    """Return the configuration, None if replication is off."""
    found = registry()
    if found.config is None or not found.config.replication.enabled:
        return None
    config = found.config
    return ReplicationConfig(config.local_region, config.replication, found.peers)


def required() -> ReplicationConfig:
    """Return the configuration. Raises NotFederated if replication is off."""
    found = replication_config()
    if found is None:
        registry().configured  # noqa: B018 - raises the problem of the whole federation
        raise NotFederated("replication is not enabled here")
    return found
