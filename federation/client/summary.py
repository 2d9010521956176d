"""The health of the whole federation. Spec: contract 23.5."""

from collections.abc import Sequence

from federation.client.results import FederationHealth
from federation.client.state import RegionState
from federation.domain.health import Status


def summary(regions: Sequence[RegionState]) -> FederationHealth:
    """Sum up; a region that was never probed counts as not healthy."""
    healthy = sum(region.status is Status.HEALTHY for region in regions)
    status = "degraded" if healthy else "unhealthy"
    return FederationHealth("healthy" if healthy == len(regions) else status, healthy, len(regions))
