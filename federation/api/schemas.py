"""The OpenAPI schemas of regions and of the router. Spec: contract 23.5."""

from federation.api.codec import SHOWN
from federation.domain.config import (
    MAX_BATCH,
    MAX_FAILURES,
    MAX_REDIRECTS,
    MAX_REGIONS,
    MAX_SECONDS,
    Extra,
    InDoubt,
    Mode,
    Topology,
)
from federation.domain.health import Status
from federation.domain.reading import SHOWN as AUTH_SHOWN
from federation.domain.region import (
    ID_PATTERN,
    MAX_ID,
    MAX_NUMBER,
    MAX_SECRET,
    MAX_TAG,
    MAX_TAGS,
    MAX_URL,
    REFERENCES,
)
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
    description="Stored encrypted and never shown; absent: the stored token stays",
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
    "tags": array(text(1, MAX_TAG), maxItems=MAX_TAGS),
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
URL = text(1, MAX_URL, format="uri", description="https, without credentials, query and fragment")
POST = obj({"id": REGION_ID, "url": URL}, GIVEN, additionalProperties=False)
PUT = obj({"url": URL}, {"id": REGION_ID, **GIVEN}, additionalProperties=False)
PATCH = obj({}, {"id": REGION_ID, "url": URL, **GIVEN}, additionalProperties=False)
SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}
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
            "failure_threshold": integer(1, MAX_FAILURES),
            "cooldown_seconds": SECONDS,
            "open_after_failures": {**integer(1, MAX_FAILURES), "description": "failure_threshold"},
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
