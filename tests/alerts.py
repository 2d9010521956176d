"""Alerts that the overview shows to operators."""

from jobs.domain.record.alerts import Alert
from jobs.services.health.alerts import alerts


def alerts_of(*kinds: str) -> list[Alert]:
    """Return the alerts of these kinds, as the overview shows them."""
    return [one for one in alerts() if one.kind in kinds]
