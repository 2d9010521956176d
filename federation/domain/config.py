"""The configuration of a federation and of its router. Spec: contract 23.2.

Members have their JSON names, so that an error names the operator's own text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Final

from federation.domain import breaker
from federation.domain.errors import FederationConfigError
from federation.domain.meta import AFFINITY, GEO_PIN, OVERFLOW
from federation.domain.region import Region, check_id

MAX_REGIONS: Final = 256
MAX_REDIRECTS: Final = 16
MAX_SECONDS: Final = 86_400
MAX_FAILURES: Final = 1_000  # until a circuit breaker opens
MAX_BATCH: Final = 10_000


class Topology(StrEnum):
    """Spec: federation 2."""

    HUB_SPOKE = "hub-spoke"
    MESH = "mesh"
    ACTIVE_ACTIVE = "active-active"


class Extra(StrEnum):
    """Strategies beyond upstream's three: with `extended_strategies` only. Spec: D-FED-3."""

    ROUND_ROBIN = "round-robin"
    LATENCY_BASED = "latency-based"
    WEIGHTED = "weighted"
    ACTIVE_PASSIVE = "active-passive"
    GEOGRAPHIC = "geographic"


class InDoubt(StrEnum):
    """The treatment of a job after a region's answer was lost twice."""

    FAIL_OVER = "fail-over"  # another region gets it; the first must give it up later
    REFUSE = "refuse"  # it is in that region or nowhere


class Mode(StrEnum):
    """The part of a job that is replicated."""

    METADATA_ONLY = "metadata-only"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Intervals and timeouts of probes."""

    interval_seconds: float = 10.0
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_seconds("health_check.interval_seconds", self.interval_seconds)
        check_seconds("health_check.timeout_seconds", self.timeout_seconds)


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """The rules by which a router stops requests to a region for a while."""

    failure_threshold: int = breaker.DEFAULT_THRESHOLD
    cooldown_seconds: float = breaker.DEFAULT_COOLDOWN_S

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_count("circuit_breaker.failure_threshold", self.failure_threshold, 1, MAX_FAILURES)
        check_seconds("circuit_breaker.cooldown_seconds", self.cooldown_seconds)


@dataclass(frozen=True, slots=True)
class Failover:
    """The regions for a job whose first region fails."""

    enabled: bool = True  # False: one attempt only; unhealthy regions are still skipped
    max_redirects: int = 3
    exclude_regions: tuple[str, ...] = ()  # no strategy chooses them; a pin may
    prefer_regions: tuple[str, ...] = ()
    in_doubt: InDoubt = InDoubt.FAIL_OVER

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_flag("failover.enabled", self.enabled)
        check_count("failover.max_redirects", self.max_redirects, 0, MAX_REDIRECTS)
        for name in ("exclude_regions", "prefer_regions"):
            object.__setattr__(self, name, _ids(f"failover.{name}", getattr(self, name)))
        check_choice("failover.in_doubt", self.in_doubt, InDoubt)

    @property
    def attempts(self) -> int:
        """Bound of the regions that one job may be sent to."""
        return 1 + self.max_redirects if self.enabled else 1


@dataclass(frozen=True, slots=True)
class Replication:
    """The exchange between servers of a federation; unused by the client library."""

    enabled: bool = False
    mode: Mode = Mode.METADATA_ONLY
    max_lag_seconds: float = 30.0
    interval_seconds: float = 2.0
    batch: int = 500
    replicate_pinned_payload: bool = False

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_flag("replication.enabled", self.enabled)
        check_choice("replication.mode", self.mode, Mode)
        check_seconds("replication.max_lag_seconds", self.max_lag_seconds)
        check_seconds("replication.interval_seconds", self.interval_seconds)
        check_count("replication.batch", self.batch, 1, MAX_BATCH)
        check_flag("replication.replicate_pinned_payload", self.replicate_pinned_payload)


@dataclass(frozen=True, slots=True)
class FederationConfig:
    """A registry and the rules of the router of `local_region`."""

    local_region: str
    regions: tuple[Region, ...]
    federation_id: str = "default"  # names the federation, not a job
    topology: Topology = Topology.MESH
    default_strategy: str = AFFINITY
    health_check: HealthCheck = field(default_factory=HealthCheck)
    load_interval_seconds: float = 10.0
    circuit_breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    failover: Failover = field(default_factory=Failover)
    replication: Replication = field(default_factory=Replication)
    extended_strategies: bool = False
    accept_healthy: bool = False  # "healthy" of foreign servers counts as "ok"
    debug: bool = False  # `allow_insecure` may lead beyond this machine

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_id("federation_id", self.federation_id)
        check_id("local_region", self.local_region)
        check_choice("topology", self.topology, Topology)
        check_seconds("load_interval_seconds", self.load_interval_seconds)
        for name in ("extended_strategies", "accept_healthy", "debug"):
            check_flag(name, getattr(self, name))
        object.__setattr__(self, "regions", _regions(self.regions))
        self._check_strategy()
        self._check_registry()

    def _check_strategy(self) -> None:
        if self.default_strategy == GEO_PIN or self.default_strategy not in self.strategies:
            allowed = ", ".join(one for one in self.strategies if one != GEO_PIN)
            raise FederationConfigError.field(
                "default_strategy", f"must be one of {allowed}", self.default_strategy
            )

    def _check_registry(self) -> None:
        self._require_registered("local_region", [self.local_region])
        self._require_registered("failover.exclude_regions", self.failover.exclude_regions)
        self._require_registered("failover.prefer_regions", self.failover.prefer_regions)
        if self.local_region in self.failover.exclude_regions:
            raise FederationConfigError.field(
                "failover.exclude_regions", "must not name the local region", self.local_region
            )
        hubs = [region.id for region in self.regions if region.is_hub]
        if self.topology is Topology.HUB_SPOKE and len(hubs) != 1:
            raise FederationConfigError.field(
                "regions",
                f"must have exactly one hub with the topology 'hub-spoke', not {len(hubs)}",
            )
        for n, region in enumerate(self.regions):
            if region.is_insecure and not (self.debug or region.is_loopback):
                raise FederationConfigError.field(
                    f"regions[{n}].url", "must use https: plain HTTP is for this machine only"
                )

    def _require_registered(self, name: str, ids: Sequence[str]) -> None:
        registered = {region.id for region in self.regions}
        for one in ids:
            if one not in registered:
                raise FederationConfigError.field(name, "must name registered regions", one)

    @property
    def strategies(self) -> tuple[str, ...]:
        """Strategies that jobs may ask for."""
        extras = tuple(Extra) if self.extended_strategies else ()
        return (AFFINITY, OVERFLOW, GEO_PIN, *(str(one) for one in extras))

    @property
    def hub(self) -> Region | None:
        """The coordinating region of hub-spoke."""
        if self.topology is not Topology.HUB_SPOKE:
            return None
        return next(region for region in self.regions if region.is_hub)

    @property
    def is_spoke(self) -> bool:
        """Whether other regions are reached through a hub."""
        return self.hub is not None and self.hub.id != self.local_region

    def region(self, id: str) -> Region | None:
        """Return a registered region."""
        return next((region for region in self.regions if region.id == id), None)

    @property
    def breaker_rules(self) -> breaker.Rules:
        """Rules of the breakers; a call may take several times the timeout of a probe."""
        return breaker.Rules(
            self.circuit_breaker.failure_threshold,
            self.circuit_breaker.cooldown_seconds,
            probe_lease_s=max(30.0, 4 * self.health_check.timeout_seconds),
        )


def check_seconds(name: str, value: object) -> None:
    """Check a duration. Raises FederationConfigError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not _is_within(value):
        raise FederationConfigError.field(
            name, f"must be a number of seconds above 0, at most {MAX_SECONDS}", value
        )


def _is_within(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value <= MAX_SECONDS and isfinite(value)


def check_count(name: str, value: object, least: int, most: int) -> None:
    """Check a whole number. Raises FederationConfigError."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FederationConfigError.field(
            name, f"must be a whole number from {least} to {most}", value
        )


def check_flag(name: str, value: object) -> None:
    """Check a switch. Raises FederationConfigError."""
    if not isinstance(value, bool):
        raise FederationConfigError.field(name, "must be true or false", value)


def check_choice(name: str, value: object, kind: type[StrEnum]) -> None:
    """Check a member of an enumeration. Raises FederationConfigError."""
    if not isinstance(value, kind):
        raise FederationConfigError.field(name, f"must be one of {', '.join(kind)}", value)


def _ids(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_REGIONS:
        raise FederationConfigError.field(name, f"must list at most {MAX_REGIONS} regions", value)
    return tuple(dict.fromkeys(check_id(f"{name}[{n}]", one) for n, one in enumerate(value)))


def _regions(value: object) -> tuple[Region, ...]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_REGIONS:
        raise FederationConfigError.field("regions", f"must list 1 to {MAX_REGIONS} regions")
    seen: set[str] = set()
    for n, region in enumerate(value):
        if not isinstance(region, Region):
            raise FederationConfigError.field(f"regions[{n}]", "must be a Region", region)
        if region.id in seen:
            raise FederationConfigError.field(f"regions[{n}].id", "must be unique", region.id)
        seen.add(region.id)
    return tuple(value)
