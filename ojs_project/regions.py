"""Several regions on one machine: for the demonstration, for benchmarks and for tests."""

import json
from collections.abc import Mapping
from typing import Any, Final

# shorter intervals than the contract's defaults, so that a person sees the effects
CONFIG: Final[Mapping[str, Any]] = {
    "federation_id": "demo",
    "topology": "active-active",
    "health_check": {"interval_seconds": 2, "timeout_seconds": 2},
    "load_interval_seconds": 2,
    "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 5},
    "replication": {"enabled": True, "mode": "full", "interval_seconds": 1},
}


def region_environment(
    local: str, urls: Mapping[str, str], config: Mapping[str, Any] = CONFIG
) -> dict[str, str]:
    """Return the variables of the server of region `local`; `urls` are as this server sees them."""
    regions = [
        {"id": region, "url": url, "allow_insecure": url.startswith("http:")}
        for region, url in urls.items()
    ]
    return {
        "OJS_FEDERATION_LOCAL_REGION": local,
        "OJS_FEDERATION_CONFIG": json.dumps(dict(config)),
        "OJS_FEDERATION_REGIONS": json.dumps(regions),
    }
