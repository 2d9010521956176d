"""Hooks into the shares and the places of lanes."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from jobs.domain.dispatch.claim import LaneKey, SharingPolicy
from jobs.extensions.registry import Extension


class LaneWeights(NamedTuple):
    """Weights of lanes, and their configuration version; the default weight is 1."""

    version: int
    named: Mapping[LaneKey, float]
    otherwise: Mapping[LaneKey, float] = {}  # for lanes that no extension names
    factors: Mapping[LaneKey, float] = {}  # throttles, applied to the final weight
    boosts: Mapping[LaneKey, int] = {}  # added to the priority; the default is 0


class LaneHooks(Extension):
    """Hooks that describe lanes that are being made, or whose shares change.

    Each hook returns the configuration version of its answer. If it is not the latest, the server
    calls `ConfigurationHooks.clear_caches` and then the hooks again.
    """

    def lane_weights(self, keys: Sequence[LaneKey]) -> LaneWeights:
        """Return the weights and boosts of lanes; the first extension that names a lane decides."""
        raise NotImplementedError

    def sharing_policies(self, queues: Collection[str]) -> tuple[int, Mapping[str, SharingPolicy]]:
        """Return the queues among `queues` whose sharing policy is not the default."""
        raise NotImplementedError

    def namespaced_tenants(self, tenants: Collection[str]) -> tuple[int, Collection[str]]:
        """Return the members of `tenants` with a namespace: only their claims get their jobs."""
        raise NotImplementedError
