"""The JSON of regions and of the router. Spec: contract 23.5."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from federation.domain.config import (
    MAX_BATCH,
    MAX_REDIRECTS,
    MAX_REGIONS,
    Extra,
    FederationConfig,
    InDoubt,
    Mode,
    Topology,
)
from federation.domain.errors import FederationConfigError
from federation.domain.health import Health, Status
from federation.domain.reading import SHOWN as AUTH_SHOWN
from federation.domain.reading import read_given_auth, read_region
from federation.domain.region import (
    ID_PATTERN,
    MAX_ID,
    MAX_NUMBER,
    MAX_SECRET,
    REFERENCES,
    Auth,
    AuthKind,
    Region,
)
from federation.domain.routing import Candidate, Decision
from federation.models import Region as Row
from federation.services.registry.registry import Registry, region_of
from jobs.api.schemas import (
    BOOLEAN,
    NUMBER,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.domain.times import format_time

# members of answers only: ignored in requests
SHOWN = ("health", "load", "source", "is_local", "created_at", "updated_at")

REGION_ID = text(1, MAX_ID, pattern=f"^{ID_PATTERN.pattern}$")
STATUS: Schema = {"type": "string", "enum": [str(one) for one in Status]}
BREAKER: Schema = {"type": "string", "enum": ["closed", "open", "half-open"]}
AUTH = component(
    "FederationAuth",
    obj(
        {
            "kind": {"type": "string", "enum": ["none", "bearer", "mtls"]},
            "token_set": BOOLEAN,
            "certificate_set": BOOLEAN,
            "ca_set": BOOLEAN,
        },
        additionalProperties=False,
    ),
)
TOKEN: Schema = text(
    1, MAX_SECRET, pattern="^[!-~]+$", writeOnly=True,
    description="Stored encrypted and never shown; absent: the one that is there",
)  # fmt: skip
GIVEN_AUTH = component(
    "FederationAuthGiven",
    obj(
        {},
        {
            "kind": {"type": "string", "enum": ["none", "bearer", "mtls"]},
            "token": maybe(TOKEN),
            **{name: {"description": "Read-only"} for name in sorted(AUTH_SHOWN)},
            **{name: {"type": "null"} for name in REFERENCES},
        },
        additionalProperties=False,
    ),
)
HEALTH = component(
    "FederationRegionHealth",
    obj(
        {
            "status": STATUS,
            "latency_ms": maybe(integer(0)),
            "circuit_breaker": BREAKER,
            "is_forced": BOOLEAN,
            "failures": integer(0),
            "opened_at": maybe(TIME),
            "retry_in_ms": integer(0),
            "last_health_check": maybe(TIME),
            "last_error": maybe(text()),
        }
    ),
)
LOAD = component(
    "FederationRegionLoad", obj({"available": integer(0), "active": integer(0), "at": TIME})
)
MEMBERS: Schema = {
    "weight": integer(0, MAX_NUMBER),
    "tags": array(text(1, 64), maxItems=64),
    "is_hub": BOOLEAN,
    "enabled": BOOLEAN,
    "drain": BOOLEAN,
    "max_queue_depth": maybe(integer(0, MAX_NUMBER)),
    "allow_insecure": BOOLEAN,
}
REGION = component(
    "FederationRegion",
    obj(
        {
            "id": REGION_ID,
            "url": text(1),
            **MEMBERS,
            "auth": AUTH,
            "source": {"type": "string", "enum": ["static", "dynamic"]},
            "is_local": BOOLEAN,
            "health": HEALTH,
            "load": maybe(LOAD),
            "created_at": TIME,
            "updated_at": TIME,
        }
    ),
)
GIVEN: Schema = {
    **{name: {"description": "Read-only"} for name in SHOWN},
    **MEMBERS,
    "auth": maybe(GIVEN_AUTH),
}
URL = text(1, 2048, format="uri", description="https, without credentials, query and fragment")
POST = obj({"id": REGION_ID, "url": URL}, GIVEN, additionalProperties=False)
PUT = obj({"url": URL}, {"id": REGION_ID, **GIVEN}, additionalProperties=False)
PATCH = obj({}, {"id": REGION_ID, "url": URL, **GIVEN}, additionalProperties=False)
SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 86_400}
IDS = array(REGION_ID, maxItems=MAX_REGIONS)
STRATEGIES = ("affinity", "overflow", *(str(one) for one in Extra))
CONFIG_MEMBERS: Schema = {
    "federation_id": REGION_ID,
    "topology": {"type": "string", "enum": [str(one) for one in Topology]},
    "default_strategy": {"type": "string", "enum": list(STRATEGIES)},
    "health_check": obj(
        {},
        {"interval_seconds": SECONDS, "timeout_seconds": SECONDS},
        additionalProperties=False,
    ),
    "load_interval_seconds": SECONDS,
    "circuit_breaker": obj(
        {},
        {
            "failure_threshold": integer(1, 1_000),
            "cooldown_seconds": SECONDS,
            "open_after_failures": {**integer(1, 1_000), "description": "failure_threshold"},
            "half_open_after_seconds": {**SECONDS, "description": "cooldown_seconds"},
            "probe_count": {"description": "Not read: there is one probe"},
        },
        additionalProperties=False,
    ),
    "failover": obj(
        {},
        {
            "enabled": BOOLEAN,
            "max_redirects": integer(0, MAX_REDIRECTS),
            "exclude_regions": IDS,
            "prefer_regions": IDS,
            "in_doubt": {"type": "string", "enum": [str(one) for one in InDoubt]},
        },
        additionalProperties=False,
    ),
    "replication": obj(
        {},
        {
            "enabled": BOOLEAN,
            "mode": {"type": "string", "enum": [str(one) for one in Mode]},
            "max_lag_seconds": SECONDS,
            "interval_seconds": SECONDS,
            "batch": integer(1, MAX_BATCH),
            "replicate_pinned_payload": BOOLEAN,
        },
        additionalProperties=False,
    ),
    "extended_strategies": BOOLEAN,
    "accept_healthy": BOOLEAN,
}
CONFIG = component(
    "FederationConfiguration",
    obj({**CONFIG_MEMBERS, "local_region": maybe(REGION_ID), "problem": maybe(text(1))}),
)
PUT_CONFIG = obj(
    {},
    {**CONFIG_MEMBERS, "local_region": REGION_ID, "problem": {"description": "Read-only"}},
    additionalProperties=False,
)

# --- the router: these three schemas equal the upstream description ------------------------------

SEEN: Schema = {
    "id": REGION_ID,
    "url": text(1),
    "status": STATUS,
    "latency_ms": maybe(integer(0)),
    "circuit_breaker": BREAKER,
    "last_health_check": maybe(TIME),
}
REGIONS = component(
    "FederationRegions",
    obj(
        {
            "federation_id": text(1),
            "regions": array(obj(SEEN, additionalProperties=False)),
        },
        additionalProperties=False,
    ),
)
ROUTE = component(
    "FederationRoute",
    obj(
        {
            "target_region": REGION_ID,
            "strategy": text(1),
            "candidates": array(
                obj(
                    {
                        "id": REGION_ID,
                        "score": {**NUMBER, "minimum": 0, "maximum": 1},
                        "reason": text(1),
                    },
                    additionalProperties=False,
                )
            ),
        },
        additionalProperties=False,
    ),
)
FEDERATION_HEALTH = component(
    "FederationHealth",
    obj(
        {
            "status": {"type": "string", "enum": ["healthy", "degraded", "unhealthy"]},
            "healthy_regions": integer(0),
            "total_regions": integer(0),
            "regions": array(
                obj(
                    {"id": REGION_ID, "status": STATUS, "replication_lag_ms": maybe(integer(0))},
                    additionalProperties=False,
                )
            ),
        },
        additionalProperties=False,
    ),
)


def encode_regions(known: Registry) -> dict[str, Any]:
    """Encode the regions as a router sees them."""
    return {
        "federation_id": known.config.federation_id if known.config else "default",
        "regions": [
            {
                "id": region.id,
                "url": region.url,
                "status": str(known.health[region.id].status),
                "latency_ms": latency(known.health[region.id]),
                "circuit_breaker": str(known.health[region.id].breaker),
                "last_health_check": _time(known.checked_at[region.id]),
            }
            for region in known.regions.values()
        ],
    }


def latency(health: Health) -> int | None:
    """Return whole milliseconds; None if the region was not measured or is unhealthy."""
    return None if health.latency_ms is None else round(health.latency_ms)


def encode_decision(decision: Decision) -> dict[str, Any]:
    """Encode the region for a job, with the reasons. Raises the decision's refusal."""
    return {
        "target_region": decision.target.id,
        "strategy": decision.strategy,
        "candidates": [_candidate(one) for one in (*decision.candidates, *decision.passed_over)],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    reason = one.reason if one.via is None else f"{one.reason}, through the hub {one.via}"
    return {"id": one.id, "score": one.score, "reason": reason}


def encode_health(known: Registry, lags_ms: Mapping[str, int | None]) -> dict[str, Any]:
    """Encode the health of the whole federation, over its enabled regions."""
    asked = [one.id for one in known.regions.values() if one.enabled]
    well = [one for one in asked if known.health[one].is_routable]
    status = "degraded" if well else "unhealthy"
    return {
        "status": "healthy" if asked and len(well) == len(asked) else status,
        "healthy_regions": len(well),
        "total_regions": len(asked),
        "regions": [
            {
                "id": one,
                "status": str(known.health[one].status),
                "replication_lag_ms": lags_ms.get(one),
            }
            for one in asked
        ],
    }


# --- operators ------------------------------------------------------------------------------------


def encode_region(row: Row, known: Registry) -> dict[str, Any]:
    """Encode a stored region with its health; of secrets only whether they are set."""
    health, stored = known.health.get(row.id, Health()), row.health
    load, region = getattr(row, "load", None), region_of(row)
    return {
        **members(region),
        "auth": _auth(region.auth),
        "source": row.source,
        "is_local": row.id == known.local_region,
        "health": {
            "status": str(health.status),
            "latency_ms": latency(health),
            "circuit_breaker": str(health.breaker),
            "is_forced": stored.is_forced,
            "failures": stored.failures,
            "opened_at": _time(stored.opened_at),
            "retry_in_ms": round(health.retry_in_s * 1000),
            "last_health_check": _time(stored.checked_at),
            "last_error": stored.last_error,
        },
        "load": load and {"available": load.available, "active": load.active, "at": load.at},
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def members(region: Region) -> dict[str, Any]:
    """Return all members of a region except its credentials, as requests spell them."""
    return {
        "id": region.id,
        "url": region.url,
        "weight": region.weight,
        "tags": list(region.tags),
        "is_hub": region.is_hub,
        "enabled": region.enabled,
        "drain": region.drain,
        "max_queue_depth": region.max_queue_depth,
        "allow_insecure": region.allow_insecure,
    }


def _auth(auth: Auth) -> dict[str, Any]:
    return {
        "kind": str(auth.kind),
        "token_set": auth.has_token,
        "certificate_set": auth.kind is AuthKind.MTLS and auth.missing is None,
        "ca_set": auth.ca_ref is not None,
    }


def decode_region(
    body: Mapping[str, Any], region_id: str | None = None, stated: Region | None = None
) -> Region:
    """Read a region; `region_id` is the id in the path. Raises FederationConfigError.

    `stated` is the region of the settings: the defaults for members that only settings may set.
    """
    given = {name: value for name, value in body.items() if name not in SHOWN}
    if region_id is not None and given.setdefault("id", region_id) != region_id:
        raise FederationConfigError.field("id", "must be that of the path", given["id"])
    if stated is None:
        return read_region(given, read_given_auth)
    found = read_region({"allow_insecure": stated.allow_insecure, **given}, read_given_auth)
    return found if "auth" in given else replace(found, auth=stated.auth)


def decode_change(body: Mapping[str, Any], before: Region) -> Region:
    """Return the region with the given members changed. Raises FederationConfigError."""
    changed = decode_region({**members(before), **body}, before.id)
    return changed if "auth" in body else replace(changed, auth=before.auth.kept)


def decode_config(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the configuration of the federation; the service checks it when it stores it."""
    return {name: value for name, value in body.items() if name != "problem"}


def encode_config(config: FederationConfig | None, problem: str) -> dict[str, Any]:
    """Encode the configuration in force with defaults; `problem`: the reason if there is none."""
    shown = config or UNSAID
    check, breaker, failover = shown.health_check, shown.circuit_breaker, shown.failover
    replication = shown.replication
    return {
        "federation_id": shown.federation_id,
        "local_region": config.local_region if config else None,
        "topology": str(shown.topology),
        "default_strategy": shown.default_strategy,
        "health_check": {
            "interval_seconds": check.interval_seconds, "timeout_seconds": check.timeout_seconds,
        },
        "load_interval_seconds": shown.load_interval_seconds,
        "circuit_breaker": {
            "failure_threshold": breaker.failure_threshold,
            "cooldown_seconds": breaker.cooldown_seconds,
        },
        "failover": {
            "enabled": failover.enabled,
            "max_redirects": failover.max_redirects,
            "exclude_regions": list(failover.exclude_regions),
            "prefer_regions": list(failover.prefer_regions),
            "in_doubt": str(failover.in_doubt),
        },
        "replication": {
            "enabled": replication.enabled,
            "mode": str(replication.mode),
            "max_lag_seconds": replication.max_lag_seconds,
            "interval_seconds": replication.interval_seconds,
            "batch": replication.batch,
            "replicate_pinned_payload": replication.replicate_pinned_payload,
        },
        "extended_strategies": shown.extended_strategies,
        "accept_healthy": shown.accept_healthy,
        "problem": problem or None,
    }  # fmt: skip


UNSAID = FederationConfig("unsaid", (Region("unsaid", "https://unsaid.invalid"),))


def _time(at: Any) -> str | None:
    return None if at is None else format_time(at)
