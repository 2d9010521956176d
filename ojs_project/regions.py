"""Several regions on one machine: for the demonstration, and for who measures or tests them."""

import json
from collections.abc import Mapping
from typing import Any, Final

# quicker than the defaults of the contract, so that a person sees what happens
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
    """Return the variables of the server that is region `local`; `urls` are as it sees them."""
    regions = [
        {"id": region, "url": url, "allow_insecure": url.startswith("http:")}
        for region, url in urls.items()
    ]
    return {
        "OJS_FEDERATION_LOCAL_REGION": local,
        "OJS_FEDERATION_CONFIG": json.dumps(dict(config)),
        "OJS_FEDERATION_REGIONS": json.dumps(regions),
    }
