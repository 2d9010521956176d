"""The choice of regions for a job: from configuration and health to ranked candidates.

Spec: federation 3; contract 23.3. Pure: a caller probes the regions in `Decision.probe` and decides
again. Then it sends the job to the candidates in their order (`delivery`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from federation.domain.breaker import State
from federation.domain.config import FederationConfig
from federation.domain.errors import (
    InvalidFederationMeta,
    NoHealthyRegion,
    RegionUnavailable,
    UnknownRegion,
)
from federation.domain.health import NEVER_PROBED, Health, Load, Status
from federation.domain.meta import AFFINITY, GEO_PIN, REGION_AFFINITY, TAGS, FederationMeta
from federation.domain.region import Region
from federation.domain.strategies import View, rank
from jobs.domain.errors import OJSError


@dataclass(frozen=True, slots=True)
class Candidate:
    """A considered region; `score` is its rank, 1 for the first, 0 for a skipped region."""

    id: str
    score: float
    reason: str
    via: str | None = None  # the hub that is asked instead, at POST /ojs/v1/federation/jobs


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one job.

    It has candidates, the best first; or `probe`, regions whose health is needed for a decision; or
    `refusal`, the error to answer with.
    """

    strategy: str
    candidates: tuple[Candidate, ...] = ()
    passed_over: tuple[Candidate, ...] = ()
    probe: tuple[str, ...] = ()
    refusal: OJSError | None = None

    @property
    def target(self) -> Candidate:
        """The first candidate. Raises the refusal when there is none."""
        if self.refusal is not None:
            raise self.refusal
        return self.candidates[0]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a router at `now`, in seconds of its clock; absent ids are unknown."""

    health: Mapping[str, Health]
    loads: Mapping[str, Load]
    now: float = 0.0
    decisions: int = 0  # made so far: round-robin


def decide(
    config: FederationConfig,
    snapshot: Snapshot,
    job: FederationMeta,
    excluded: frozenset[str] = frozenset(),
) -> Decision:
    """Decide, without the regions in `excluded`, where the job was sent without success.

    Raises InvalidFederationMeta for an unknown strategy or tags that no region has, UnknownRegion
    for a region that is not registered. The recovery of a region would not change these errors.
    """
    strategy = job.strategy or config.default_strategy
    if strategy not in config.strategies:
        raise InvalidFederationMeta.field(
            f"meta.{REGION_AFFINITY}", f"must be one of {', '.join(config.strategies)}", strategy
        )
    health = {region.id: snapshot.health.get(region.id, NEVER_PROBED) for region in config.regions}
    choice = _Choice(config, health, snapshot, job, excluded)
    return choice.pinned() if strategy == GEO_PIN else choice.free(strategy)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The computation of one decision."""

    config: FederationConfig
    health: Mapping[str, Health]
    snapshot: Snapshot
    job: FederationMeta
    excluded: frozenset[str]

    # --- pinned -----------------------------------------------------------------------------------

    def pinned(self) -> Decision:
        """Decide for the pinned region, which is the only candidate. Spec: federation 3.3, 7.2."""
        region = self.config.region(self.job.region or "")
        if region is None:
            raise UnknownRegion.named(self.job.region or "")
        self._check_tags([region])
        if probe := self._unprobed_on_route(region):
            return Decision(GEO_PIN, probe=probe)
        if reason := self._obstacle(region):
            refusal = RegionUnavailable.because(region.id, reason, self._retry_in([region]))
            passed = Candidate(region.id, 0.0, reason)
            return Decision(GEO_PIN, passed_over=(passed,), refusal=refusal)
        return Decision(GEO_PIN, (Candidate(region.id, 1.0, "pinned", self._via(region)),))

    def _unprobed_on_route(self, region: Region) -> tuple[str, ...]:
        if self._refused(region):
            return ()
        if self._is_beyond(region) and self._hub_health().wants_probe:
            return (self._hub_id(),)
        is_asked = self.health[region.id].wants_probe and not self._hub_obstacle(region)
        return (region.id,) if is_asked else ()

    # --- not pinned -----------------------------------------------------------------------------

    def free(self, strategy: str) -> Decision:
        """Rank the regions that can take the job. Spec: contract 23.3, steps 4 to 6."""
        eligible = [region for region in self.config.regions if self._is_eligible(region, strategy)]
        self._check_tags(self.config.regions)
        if probe := self._to_probe(eligible, strategy):
            return Decision(strategy, probe=probe)
        obstacles = {one.id: self._obstacle(one) for one in eligible}
        ranked = rank(
            strategy, [one for one in eligible if not obstacles[one.id]], self._view(), self.job
        )
        passed = self._passed_over(eligible, obstacles, [region.id for region, _ in ranked])
        if not ranked:
            reasons = [{"id": one.id, "reason": one.reason} for one in passed]
            refusal = NoHealthyRegion.because(reasons, self._retry_in(eligible))
            return Decision(strategy, passed_over=passed, refusal=refusal)
        candidates = tuple(
            Candidate(region.id, round(1 - n / len(ranked), 4), reason, self._via(region))
            for n, (region, reason) in enumerate(ranked)
        )
        return Decision(strategy, candidates, passed)

    def _is_eligible(self, region: Region, strategy: str) -> bool:
        """Return whether a strategy may choose a region, apart from its health."""
        if region.id in self.config.failover.exclude_regions:
            return False
        is_first_choice = strategy == AFFINITY and region.id == self.config.local_region
        return region.weight > 0 or is_first_choice

    def _to_probe(self, eligible: Sequence[Region], strategy: str) -> tuple[str, ...]:
        """Return the regions to probe before the ranking is reliable.

        With affinity, a local region that can take the job is enough. Spec: FED-3.1-a. A job does
        not wait for the probe of an unhealthy region while a healthy region can take it.
        """
        usable = [one for one in eligible if not self._refused(one)]
        local = [one for one in usable if one.id == self.config.local_region]
        if strategy == AFFINITY and local:
            health = self.health[local[0].id]
            if health.wants_probe:
                return (local[0].id,)
            if health.is_routable and not self._view().is_full(local[0]):
                return ()
        if any(self._is_beyond(one) for one in usable) and self._hub_is_new():
            return (self._hub_id(),)
        reachable = [self.health[one.id] for one in usable if not self._hub_obstacle(one)]
        is_any_well = any(health.is_routable for health in reachable)
        return tuple(
            one.id
            for one in usable
            if not self._hub_obstacle(one)
            and self.health[one.id].wants_probe
            and not (is_any_well and self.health[one.id].status is Status.UNHEALTHY)
        )

    def _passed_over(
        self, eligible: Sequence[Region], obstacles: Mapping[str, str], ranked: Sequence[str]
    ) -> tuple[Candidate, ...]:
        ids = {region.id for region in eligible}
        return tuple(
            Candidate(one.id, 0.0, obstacles.get(one.id) or self._never(one, one.id in ids))
            for one in self.config.regions
            if one.id not in ranked
        )

    def _never(self, region: Region, is_eligible: bool) -> str:  # noqa: FBT001
        if is_eligible:
            return "no weight in ojs.federation.weights"
        is_excluded = region.id in self.config.failover.exclude_regions
        return "excluded by configuration" if is_excluded else "weight 0"

    def _view(self) -> View:
        return View(
            self.config, self.health, self.snapshot.loads, self.snapshot.now,
            self.snapshot.decisions, self.job.federation_id or str(self.snapshot.decisions),
        )  # fmt: skip

    # --- obstacles --------------------------------------------------------------------------------

    def _refused(self, region: Region) -> str:
        """Return why a region is out, independent of its health; empty when it is not."""
        if not region.enabled:
            return "disabled"
        if region.drain:
            return "draining"
        if not set(self.job.tags) <= set(region.tags):
            return "lacks the tags of the job"
        return "failed already for this job" if region.id in self.excluded else ""

    def _obstacle(self, region: Region) -> str:
        """Return why a region cannot take the job now; empty when it can."""
        return self._refused(region) or self._hub_obstacle(region) or _ill(self.health[region.id])

    def _hub_obstacle(self, region: Region) -> str:
        """Return why a region cannot be reached. Spec: federation 2.1."""
        if not self._is_beyond(region):
            return ""
        hub = self.config.region(self._hub_id())
        if hub is None or not hub.enabled or hub.id in self.excluded:
            return "the hub is unavailable"
        return "the hub is unavailable" if _ill(self._hub_health()) else ""

    def _is_beyond(self, region: Region) -> bool:
        """Return whether a region is reachable only through the hub."""
        here = (self.config.local_region, self._hub_id())
        return self.config.is_spoke and region.id not in here

    def _via(self, region: Region) -> str | None:
        return self._hub_id() if self._is_beyond(region) else None

    def _hub_id(self) -> str:
        return self.config.hub.id if self.config.hub is not None else ""

    def _hub_is_new(self) -> bool:
        return self._hub_health().wants_probe and self._hub_health().status is Status.UNKNOWN

    def _hub_health(self) -> Health:
        return self.health.get(self._hub_id(), NEVER_PROBED)

    # --- refusals ---------------------------------------------------------------------------------

    def _check_tags(self, regions: Sequence[Region]) -> None:
        if not any(set(self.job.tags) <= set(region.tags) for region in regions):
            what = "the pinned region has" if self.job.region else "some region has"
            raise InvalidFederationMeta.field(
                f"meta.{TAGS}",
                f"must be tags that {what}: remove a tag or add it to a region",
                list(self.job.tags),
            )

    def _retry_in(self, regions: Sequence[Region]) -> float:
        """Return the seconds until the first of the regions may be healthy again."""
        interval = self.config.health_check.interval_seconds
        return min(
            (self.health[region.id].retry_in_s or interval for region in regions),
            default=interval,
        )


def _ill(health: Health) -> str:
    if health.breaker is State.OPEN:
        return "circuit breaker open"
    if not health.is_admitting:
        return "circuit breaker half-open, its probe is in progress"
    return "" if health.status is Status.HEALTHY else f"health {health.status}"
