"""Metrics of the regions, from the database. Spec: contract 23.8."""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

from federation.domain.breaker import State
from federation.domain.health import Status
from federation.services.registry.regions import registry

PREFIX = "ojs_federation_"
NUMBERS = {State.CLOSED: 0, State.HALF_OPEN: 1, State.OPEN: 2}


def families() -> Iterable[Metric]:
    """Read the health that this server's router uses; one series per registered region."""
    known = registry().health
    yield _gauge(
        "region_latency_seconds",
        "Average round trip of health checks",
        {one: found.latency_ms / 1000 for one, found in known.items() if found.latency_ms},
    )
    yield _gauge(
        "region_healthy",
        "Whether the last health check succeeded",
        {one: float(found.status is Status.HEALTHY) for one, found in known.items()},
    )
    yield _gauge(
        "circuit_state",
        "0 closed, 1 half-open, 2 open",
        {one: float(NUMBERS[found.breaker]) for one, found in known.items()},
    )


def _gauge(name: str, text: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, text, labels=["region"])
    for region, value in values.items():
        family.add_metric([region], value)
    return family
