"""The strategies: orders of the eligible regions. Spec: federation 3, 4.4; contract 23.3.

A strategy only sorts; `routing` decides which regions are eligible.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log

from federation.domain.config import Extra, FederationConfig
from federation.domain.health import Health, Load
from federation.domain.meta import AFFINITY, OVERFLOW, FederationMeta
from federation.domain.region import Region

STALE_INTERVALS = 3  # a load older than these is ignored
Ranked = list[tuple[Region, str]]  # the best first, each with the reason


@dataclass(frozen=True, slots=True)
class View:
    """The data of a ranking."""

    config: FederationConfig
    health: Mapping[str, Health]
    loads: Mapping[str, Load]
    now: float
    decisions: int  # that the router has made
    seed: str  # the job's federation id: a retry repeats the draw

    def latency(self, region: Region) -> float:
        """Return the latency in milliseconds; infinite when never measured."""
        return self.health[region.id].latency

    def load(self, region: Region) -> Load | None:
        """Return the load unless it is stale."""
        found = self.loads.get(region.id)
        limit = STALE_INTERVALS * self.config.load_interval_seconds
        return None if found is None or self.now - found.at > limit else found

    def is_full(self, region: Region) -> bool:
        """Return whether a region's last load is at its `max_queue_depth`."""
        load = self.load(region)
        return (
            region.max_queue_depth is not None
            and load is not None
            and load.available >= region.max_queue_depth
        )


Ranking = Callable[[Sequence[Region], View, FederationMeta], Ranked]


def rank(strategy: str, regions: Sequence[Region], view: View, job: FederationMeta) -> Ranked:
    """Return the regions in the order of a strategy; full regions come last."""
    ranked = RANKINGS[strategy](regions, view, job)
    full = [
        (one, f"{reason}, at its max_queue_depth") for one, reason in ranked if view.is_full(one)
    ]
    return [pair for pair in ranked if not view.is_full(pair[0])] + full


def affinity(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Put the local region first, then the preferred regions, then the nearest."""
    preferred = view.config.failover.prefer_regions

    def place(region: Region) -> tuple[bool, int, float, str]:
        rank = preferred.index(region.id) if region.id in preferred else len(preferred)
        return region.id != view.config.local_region, rank, view.latency(region), region.id

    def reason(region: Region) -> str:
        if region.id == view.config.local_region:
            return "local"
        return "preferred" if region.id in preferred else "nearest by latency"

    return [(region, reason(region)) for region in sorted(regions, key=place)]


def overflow(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Put the least loaded region first; regions without a load come last."""

    def load(region: Region) -> float:
        found = view.load(region)
        return inf if found is None else (found.available + found.active) / max(region.weight, 1)

    def reason(region: Region) -> str:
        return f"load {load(region):g}" if load(region) < inf else "load unknown"

    ranked = sorted(regions, key=lambda one: (load(one), view.latency(one), one.id))
    return [(region, reason(region)) for region in ranked]


def round_robin(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Begin with the next region at each decision."""
    ordered = sorted(regions, key=lambda region: region.id)
    first = view.decisions % len(ordered) if ordered else 0
    return [(region, "in turn") for region in ordered[first:] + ordered[:first]]


def latency_based(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Put the nearest region first."""
    ranked = sorted(regions, key=lambda region: (view.latency(region), region.id))
    return [(region, "nearest by latency") for region in ranked]


def weighted(regions: Sequence[Region], view: View, job: FederationMeta) -> Ranked:
    """Draw by weight: the job's `ojs.federation.weights`, else the weights of the registry.

    Regions without weight are left out. The seed is the federation id, so that a retry of a job
    gets the same order.
    """

    def weight(region: Region) -> float:
        return job.weights.get(region.id, 0.0) if job.weights else float(region.weight)

    def lot(region: Region) -> float:  # Efraimidis and Spirakis: the least of -ln(u)/w first
        digest = hashlib.sha256(f"{view.seed} {region.id}".encode()).digest()
        share = (int.from_bytes(digest[:8]) + 1) / (2**64 + 1)
        return -log(share) / weight(region)

    drawn = sorted((one for one in regions if weight(one) > 0), key=lambda one: (lot(one), one.id))
    return [(region, f"weight {weight(region):g}") for region in drawn]


def active_passive(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Take the first usable region: the preferred in their order, then the registry's order."""
    preferred = view.config.failover.prefer_regions
    order = [*preferred, *(one.id for one in view.config.regions if one.id not in preferred)]
    ranked = sorted(regions, key=lambda region: order.index(region.id))
    return [
        (region, "active" if region.id == order[0] else f"passive {order.index(region.id)}")
        for region in ranked
    ]


def geographic(regions: Sequence[Region], view: View, _job: FederationMeta) -> Ranked:
    """Put the regions in the local region's area first; inside each group the nearest first."""
    here = view.config.region(view.config.local_region)
    area = _area(here) if here is not None else ""

    def place(region: Region) -> tuple[bool, bool, float, str]:
        is_local = region.id == view.config.local_region
        return _area(region) != area, not is_local, view.latency(region), region.id

    return [(region, f"area {_area(region)}") for region in sorted(regions, key=place)]


def _area(region: Region) -> str:
    """Return the tag `geo:…`, else the first part of the id: `eu` of `eu-west-1`."""
    tagged = (tag.removeprefix("geo:") for tag in region.tags if tag.startswith("geo:"))
    return next(tagged, region.id.partition("-")[0])


RANKINGS: Mapping[str, Ranking] = {
    AFFINITY: affinity,
    OVERFLOW: overflow,
    Extra.ROUND_ROBIN: round_robin,
    Extra.LATENCY_BASED: latency_based,
    Extra.WEIGHTED: weighted,
    Extra.ACTIVE_PASSIVE: active_passive,
    Extra.GEOGRAPHIC: geographic,
}
