"""The JSON of regions and of the router. Spec: contract 23.5."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from federation.domain.config import FederationConfig
from federation.domain.errors import FederationConfigError
from federation.domain.health import Health
from federation.domain.reading import read_given_auth, read_region
from federation.domain.region import Auth, AuthKind, Region
from federation.domain.routing import Candidate, Decision
from federation.models import Region as Row
from federation.services.registry.registry import Registry, region_of
from jobs.domain.wire.times import format_time

# members of answers only: ignored in requests
SHOWN = ("health", "load", "source", "is_local", "created_at", "updated_at")


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
