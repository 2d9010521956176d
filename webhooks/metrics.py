"""Metrics of the processes that send deliveries, with the names of contract 26.2."""

from prometheus_client import Counter, Gauge, Histogram

BOUNDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

_count = Counter(
    "ojs_webhook_delivery_count",
    "Attempts to deliver an event",
    ["event_type", "status"],
)
_took = Histogram(
    "ojs_webhook_delivery_duration_seconds", "Time of an attempt", ["event_type"], buckets=BOUNDS
)
_retries = Counter("ojs_webhook_delivery_retry_count", "Attempts after the first of a delivery")
_dead = Counter("ojs_webhook_dead_delivery_count", "Deliveries that were given up", ["event_type"])
_subscriptions = Gauge(
    "ojs_webhook_subscription_count", "Active subscriptions", multiprocess_mode="mostrecent"
)


def observe_subscriptions(number: int) -> None:
    """Set the number of active subscriptions."""
    _subscriptions.set(number)


def observe(event_type: str, is_success: bool, took_ms: int, tries: int) -> None:  # noqa: FBT001
    """Count an attempt."""
    _count.labels(event_type, "delivered" if is_success else "failed").inc()
    _took.labels(event_type).observe(took_ms / 1000)
    if tries > 1:
        _retries.inc()


def observe_dead(event_type: str) -> None:
    """Count a delivery that was given up."""
    _dead.labels(event_type).inc()
