"""The stored registry with the health of the regions, read at one moment."""

import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from django.conf import settings
from django.db.models.functions import Now

from federation import models
from federation.conf import conf
from federation.domain.breaker import Breaker, Rules
from federation.domain.breaker import State as BreakerState
from federation.domain.config import FederationConfig, HealthCheck
from federation.domain.errors import FederationConfigError, NotFederated
from federation.domain.health import Health, Load, Status
from federation.domain.reading import read_config, read_region
from federation.domain.region import Auth, AuthKind, Region, Secret
from jobs.caches import VersionedCache
from jobs.conf import read_anew
from jobs.domain.outbound.vault import Resealed, Vault
from jobs.services.outbound import vaults

logger = logging.getLogger("ojs.federation")
LOCAL = "local_region"
INTERVALS = 3  # of probes that may be missing before a status is unknown
NOBODY = "this server belongs to no federation"
SET_OVER_THE_API = f"{NOBODY}: its local region was set over the API; set it in the settings"
PURPOSE = "ojs federation secrets"
BY_REFERENCE = "was a reference: set it again"
OF_ANOTHER_KEY = "was encrypted with another key: set it again"
OF_OTHER_SETTINGS = "is in the settings of other processes only: add it to this process"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Registry:
    """The federation at one moment of the database's clock.

    `config` is None if this server belongs to no federation, or if the stored configuration is
    invalid: `problem` has the reason.
    """

    version: int = 0
    config: FederationConfig | None = None
    problem: str = NOBODY
    regions: Mapping[str, Region] = field(default_factory=dict)  # by id, in order
    health: Mapping[str, Health] = field(default_factory=dict)
    loads: Mapping[str, Load] = field(default_factory=dict)
    checked_at: Mapping[str, datetime | None] = field(default_factory=dict)
    probed_at: Mapping[str, float] = field(default_factory=dict)  # in the same seconds
    now: float = 0.0  # seconds of the database's clock, as in loads
    read_at: float = 0.0  # of the monotonic clock of this process

    @property
    def configured(self) -> FederationConfig:
        """The configuration. Raises NotFederated if there is none."""
        if self.config is None:
            raise NotFederated(self.problem)
        return self.config

    @property
    def local_region(self) -> str | None:
        """The id of this server's region, None if it belongs to no federation."""
        return self.config.local_region if self.config else None

    @property
    def peers(self) -> Sequence[Region]:
        """The other enabled regions: the receivers of replication."""
        return [one for one in self.regions.values() if one.enabled and one.id != self.local_region]


def latest() -> Registry:
    """Return the cached registry, at most `refresh_ms` old; a read takes two statements."""
    found = cache.latest
    return found if found is not None and _is_fresh(found) else cache.obtain(_is_fresh)


def _is_fresh(found: Registry) -> bool:
    return (monotonic() - found.read_at) * 1000 < conf().refresh_ms


def read() -> Registry:
    """Read the registry now."""
    began = monotonic()
    row = models.FederationConfig.objects.filter(id=1).first()
    rows = list(
        models.Region.objects.select_related("health", "load").annotate(now=Now()).order_by("id")
    )
    regions = {row.id: region_of(row) for row in rows}
    config, problem = _config(row, regions)
    rules = config.breaker_rules if config else Rules()
    check = config.health_check if config else HealthCheck()
    oldest_s = INTERVALS * check.interval_seconds + check.timeout_seconds
    now = seconds(rows[0].now) if rows else 0.0
    return Registry(
        version=row.version if row else 0,
        config=config,
        problem=problem,
        regions=regions,
        health={one.id: health_of(one.health, now, rules, oldest_s) for one in rows},
        loads={one.id: _load(one.load) for one in rows if hasattr(one, "load")},
        checked_at={one.id: one.health.checked_at for one in rows},
        probed_at={one.id: seconds(one.health.checked_at) for one in rows if one.health.checked_at},
        now=now,
        read_at=began,
    )


def said(row: models.FederationConfig | None) -> dict[str, Any]:
    """Return the set members of the configuration, operators before settings.

    Only the settings name the region of this server.
    """
    by_operators = {k: v for k, v in (row.said if row else {}).items() if k != LOCAL}
    return {**conf().said, **by_operators}


def build(given: Mapping[str, Any], regions: Mapping[str, Region]) -> FederationConfig:
    """Return a configuration with these regions. Raises FederationConfigError."""
    if "debug" in given or "regions" in given:
        name = "debug" if "debug" in given else "regions"
        raise FederationConfigError.field(name, "is not a member of the configuration")
    return read_config({**given, "debug": settings.DEBUG}, tuple(regions.values()))


def _config(
    row: models.FederationConfig | None, regions: Mapping[str, Region]
) -> tuple[FederationConfig | None, str]:
    given = said(row)
    local = given.get(LOCAL)
    if not local or not regions:
        return None, NOBODY if row is None or LOCAL not in row.said else SET_OVER_THE_API
    if local not in regions:
        return None, f"the local region '{local}' is not registered"
    try:
        return build(given, regions), ""
    except FederationConfigError as problem:
        logger.error("federation.misconfigured", extra={"problem": problem.message})  # noqa: TRY400
        return None, f"the configuration of the federation is not valid: {problem.message}"


def vault() -> Vault:
    """Return the vault that encrypts the tokens of regions."""
    return vaults.vault(PURPOSE)


def reseal() -> Resealed:
    """Encrypt the tokens of all regions with the first key."""
    return vaults.reseal(models.Region.objects.all(), ("sealed_token",), vault())


@functools.cache
def stated() -> Mapping[str, Region]:
    """Return the regions of this process's settings, by id. Raises FederationConfigError."""
    return {one.id: one for one in map(read_region, conf().regions)}


def region_of(row: models.Region) -> Region:
    """Return a stored region with the secrets that calls need.

    The address and the credentials of a region of the settings come from this process's settings.
    So a writer of the database cannot read its secrets or have them sent elsewhere.
    """
    known = stated().get(row.id) if row.source == models.Source.STATIC else None
    if known is not None:
        url, auth, allow_insecure = known.url, known.auth, known.allow_insecure
    else:
        url, auth, allow_insecure = row.url, _auth_of(row), row.allow_insecure
    return Region(
        id=row.id,
        url=url,
        weight=row.weight,
        tags=tuple(row.tags),
        is_hub=row.is_hub,
        enabled=row.enabled,
        drain=row.drain,
        max_queue_depth=row.max_queue_depth,
        auth=auth,
        allow_insecure=allow_insecure,
    )


def _auth_of(row: models.Region) -> Auth:
    """Return the credentials from operators; a stored reference is never followed."""
    if row.sealed_token is not None:
        try:
            return Auth(AuthKind.BEARER, token=Secret(vault().open(bytes(row.sealed_token))))
        except ValueError:
            return Auth(AuthKind.BEARER, missing=OF_ANOTHER_KEY)
    kind = AuthKind(row.auth_kind)
    if kind is AuthKind.NONE and row.ca_ref is None:
        return Auth()
    is_static = row.source == models.Source.STATIC
    return Auth(kind, missing=OF_OTHER_SETTINGS if is_static else BY_REFERENCE)


def breaker_of(row: models.RegionHealth) -> Breaker:
    """Return the stored breaker; times are seconds of the database's clock."""
    return Breaker(
        state=BreakerState(row.breaker),
        failures=row.failures,
        opened_at=seconds(row.opened_at) if row.opened_at else None,
        probe_until=seconds(row.probe_until) if row.probe_until else None,
        is_forced=row.is_forced,
    )


def health_of(row: models.RegionHealth, now: float, rules: Rules, oldest_s: float) -> Health:
    """Return the health of a region at a time.

    A status older than `oldest_s` counts as unknown: without a loop, routers probe.
    """
    stored = breaker_of(row)
    breaker = stored.at(now, rules)
    is_old = row.checked_at is None or now - seconds(row.checked_at) > oldest_s
    is_healthy = row.status == Status.HEALTHY
    return Health(
        status=Status.UNKNOWN if is_old else Status(row.status),
        breaker=breaker.state,
        is_probed=breaker.state is BreakerState.HALF_OPEN and breaker.is_probed(now),
        latency_ms=row.ewma_ms if is_healthy else None,
        retry_in_s=stored.reopens_in(now, rules),
    )


def seconds(at: datetime) -> float:
    """Return a time of the database as seconds, the unit of breakers and loads."""
    return (at - EPOCH).total_seconds()


def _load(row: models.RegionLoad) -> Load:
    return Load(row.available, row.active, seconds(row.at))


cache = VersionedCache(lambda _: read(), setting="OJS_FEDERATION")
read_anew(stated, setting="OJS_FEDERATION")
