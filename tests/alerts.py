"""What operators are told to look at."""

from jobs.domain.alerts import Alert
from jobs.services.health.alerts import alerts


def alerts_of(*kinds: str) -> list[Alert]:
    """Return the alerts of some kinds, as the overview has them."""
    return [one for one in alerts() if one.kind in kinds]
