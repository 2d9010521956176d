"""Counters of routers. Their names are the names of contract 23.8."""

from prometheus_client import Counter

_routed = Counter("ojs_federation_routed_total", "Jobs that a region took", ["target", "strategy"])
_failover = Counter(
    "ojs_federation_failover_total",
    "Jobs that went on to another region",
    ["from_region", "to_region", "reason"],
)
REASONS = ("ambiguous", "circuit breaker open")


def observe_routed(target: str, strategy: str) -> None:
    """Count one job that a region took."""
    _routed.labels(target, strategy).inc()


def observe_failover(from_region: str, to_region: str, reason: str) -> None:
    """Count one hop, by the kind of its reason: texts of errors would make too many series."""
    kind = reason if reason in REASONS or reason.startswith("HTTP ") else "not_sent"
    _failover.labels(
        from_region, to_region, kind.removesuffix(": redirects are not followed")
    ).inc()
