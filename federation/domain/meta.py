"""The keys of `meta` that carry federation. Spec: federation 6, contract 23.1, 23.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from federation.domain.errors import (
    FederationConfigError,
    InvalidFederationMeta,
    RegionRequired,
)
from federation.domain.region import ID_RULE, check_id, check_tags
from jobs.domain.wire.ids import is_id, new_id

PREFIX: Final = "ojs.federation."
FEDERATION_ID: Final = PREFIX + "federation_id"
REGION: Final = PREFIX + "region"
REGION_AFFINITY: Final = PREFIX + "region_affinity"
REPLICATED_FROM: Final = PREFIX + "replicated_from"
SOURCE_REGION: Final = PREFIX + "source_region"
ROUTED_AT: Final = PREFIX + "routed_at"
FAILOVER_REASON: Final = PREFIX + "failover_reason"
TAGS: Final = PREFIX + "tags"
WEIGHTS: Final = PREFIX + "weights"
# regions that may have the job as well, because their answer was lost
IN_DOUBT: Final = PREFIX + "in_doubt"
ADOPTED_FROM: Final = PREFIX + "adopted_from"  # the region of the job that it replaces
ADOPTED_JOB: Final = PREFIX + "adopted_job"

AFFINITY, OVERFLOW, GEO_PIN = "affinity", "overflow", "geo-pin"
DEDUPE_HEADER: Final = "OJS-Federation-Dedupe"
DEDUPLICATED_HEADER: Final = "OJS-Deduplicated"
MAX_WEIGHTS: Final = 1_000
MAX_IN_DOUBT: Final = 256


@dataclass(frozen=True, slots=True)
class FederationMeta:
    """The routing members of a job; absent keys are None or empty."""

    federation_id: str | None = None
    region: str | None = None
    affinity: str | None = None  # as sent; `strategy` is the effective one
    tags: tuple[str, ...] = ()
    weights: Mapping[str, float] | None = None
    in_doubt: tuple[str, ...] = ()

    @property
    def strategy(self) -> str | None:
        """The strategy that the job demands, None for the default strategy.

        A region pins, regardless of the affinity. Spec: federation 6.3.
        """
        return GEO_PIN if self.region is not None else self.affinity


def read_meta(meta: Mapping[str, Any] | None) -> FederationMeta:
    """Return the routing members of a client's job.

    Raises InvalidFederationMeta naming the key, RegionRequired for a pin without a region. The
    function does not check that strategies and regions exist.
    """
    found = meta or {}
    if REPLICATED_FROM in found:
        raise InvalidFederationMeta.field(
            f"meta.{REPLICATED_FROM}", "is set by replication, never by a client"
        )
    read = FederationMeta(
        federation_id=_federation_id(found.get(FEDERATION_ID)),
        region=_region(found.get(REGION)),
        affinity=_text(REGION_AFFINITY, found.get(REGION_AFFINITY)),
        tags=_tags(found.get(TAGS)),
        weights=_weights(found.get(WEIGHTS)),
        in_doubt=read_in_doubt(found.get(IN_DOUBT)),
    )
    if read.affinity == GEO_PIN and read.region is None:
        raise RegionRequired(
            f"meta.{REGION} is required with the strategy 'geo-pin'",
            details={"field": f"meta.{REGION}"},
        )
    return read


def _federation_id(value: object) -> str | None:
    if value is not None and not is_id(value):
        raise InvalidFederationMeta.field(
            f"meta.{FEDERATION_ID}", "must be a UUIDv7 in lower case", value
        )
    return None if value is None else str(value)


def _region(value: object) -> str | None:
    if value is None:
        return None
    try:
        return check_id("region", value)
    except FederationConfigError:
        raise InvalidFederationMeta.field(f"meta.{REGION}", ID_RULE, value) from None


def _text(key: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidFederationMeta.field(f"meta.{key}", "must be a text", value)
    return value


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    try:
        return check_tags(f"meta.{TAGS}", value)
    except FederationConfigError as problem:
        raise InvalidFederationMeta(problem.message, details=problem.details) from None


def _weights(value: object) -> dict[str, float] | None:
    if value is None:
        return None
    name = f"meta.{WEIGHTS}"
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MAX_WEIGHTS:
        raise InvalidFederationMeta.field(name, "must be an object of weights by region", value)
    for region, weight in value.items():
        if not isinstance(region, str) or not _is_weight(weight):
            raise InvalidFederationMeta.field(
                f"{name}.{str(region)[:64]}", "must be a number from 0 to 1000000", weight
            )
    return {region: float(weight) for region, weight in value.items()}


def read_in_doubt(value: object) -> tuple[str, ...]:
    """Return the regions that may have a job already. Raises InvalidFederationMeta."""
    if value is None:
        return ()
    name = f"meta.{IN_DOUBT}"
    if not isinstance(value, list | tuple) or len(value) > MAX_IN_DOUBT:
        raise InvalidFederationMeta.field(name, f"must list at most {MAX_IN_DOUBT} regions", value)
    try:
        return tuple(dict.fromkeys(check_id(name, one) for one in value))
    except FederationConfigError:
        raise InvalidFederationMeta.field(name, ID_RULE, value) from None


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1_000_000 and isfinite(value)  # noqa: PLR2004 - as the message says


def new_federation_id() -> str:
    """Return a new id of the present time. Spec: federation 6.3."""
    return new_id()


def stamped(
    meta: Mapping[str, Any] | None, in_doubt: Sequence[str] = (), **keys: str | None
) -> dict[str, Any]:
    """Return `meta` with `keys` added, without their prefix; values of the caller stay.

    Only the list of regions in doubt is replaced by `in_doubt`. Spec: contract 23.3, step 7.
    """
    added = {PREFIX + key: value for key, value in keys.items() if value is not None}
    given = {key: value for key, value in (meta or {}).items() if value is not None}
    kept = {key: value for key, value in (meta or {}).items() if key != IN_DOUBT}
    doubts = {IN_DOUBT: list(in_doubt)} if in_doubt else {}
    return {**kept, **added, **{key: given[key] for key in added if key in given}, **doubts}
