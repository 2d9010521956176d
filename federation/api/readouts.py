"""Read-only summaries over all regions that this router has data of. Spec: contract 23.5."""

from datetime import timedelta
from typing import Any

from rest_framework.request import Request

from federation.api import codec, schemas
from federation.api.base import FederationView
from federation.services.registry.regions import registry
from federation.services.registry.registry import EPOCH, Registry
from federation.services.replication.lag import lags_ms
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, TIME, array, integer, maybe, obj, text
from jobs.api.wire.answer import Answer
from jobs.domain.wire.times import format_time

EXTENSION = "federation"
BACKENDS = obj(
    {
        "federation_id": text(1),
        "backends": array(
            obj(
                {
                    **schemas.SEEN,
                    "weight": integer(0),
                    "tags": array(text(1)),
                    "is_local": BOOLEAN,
                    "is_hub": BOOLEAN,
                    "enabled": BOOLEAN,
                    "drain": BOOLEAN,
                }
            )
        ),
    }
)
JOBS = obj({"available": integer(0), "active": integer(0)})
STATISTICS = obj(
    {
        "federation_id": text(1),
        "healthy_regions": integer(0),
        "total_regions": integer(0),
        "counted_regions": integer(0),
        "jobs": JOBS,
        "regions": array(
            obj(
                {
                    "id": schemas.REGION_ID,
                    "status": schemas.STATUS,
                    "latency_ms": maybe(integer(0)),
                    "replication_lag_ms": maybe(integer(0)),
                    "jobs": maybe(JOBS),
                    "counted_at": maybe(TIME),
                }
            )
        ),
    }
)


class Backends(FederationView):
    """The servers behind the router."""

    @operation("listFederationBackends", {200: BACKENDS}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """List the servers of all regions with their health and the requests that they take."""
        known = registry()
        seen = codec.encode_regions(known)
        more = [_backend(known, one["id"]) for one in seen["regions"]]
        backends = [one | details for one, details in zip(seen["regions"], more, strict=True)]
        return Answer({"federation_id": seen["federation_id"], "backends": backends})


def _backend(known: Registry, region_id: str) -> dict[str, Any]:
    region = known.regions[region_id]
    return {
        "weight": region.weight,
        "tags": list(region.tags),
        "is_local": region_id == known.local_region,
        "is_hub": region.is_hub,
        "enabled": region.enabled,
        "drain": region.drain,
    }


class Statistics(FederationView):
    """Jobs of all regions."""

    @operation("getFederationStats", {200: STATISTICS}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Add up the last known job counts of all regions, without a request to a region.

        `jobs` are the jobs of the `counted_regions`; a region that was never counted has null.
        """
        known = registry()
        health = codec.encode_health(known, lags_ms())
        regions = [_statistics(known, one) for one in health["regions"]]
        counted = [one["jobs"] for one in regions if one["jobs"] is not None]
        return Answer(
            {
                "federation_id": known.config.federation_id if known.config else "default",
                "healthy_regions": health["healthy_regions"],
                "total_regions": health["total_regions"],
                "counted_regions": len(counted),
                "jobs": {
                    name: sum(one[name] for one in counted) for name in ("available", "active")
                },
                "regions": regions,
            }
        )


def _statistics(known: Registry, seen: dict[str, Any]) -> dict[str, Any]:
    load = known.loads.get(seen["id"])
    return {
        **seen,
        "latency_ms": codec.latency(known.health[seen["id"]]),
        "jobs": load and {"available": load.available, "active": load.active},
        "counted_at": load and format_time(EPOCH + timedelta(seconds=load.at)),
    }
