"""How finely what happened is counted over time. Spec: contract 28.3, 32.6."""

from typing import Final

SECOND: Final = 1
MINUTE: Final = 60  # seconds
HOUR: Final = 3600
DAY: Final = 86_400
SPANS: Final = (MINUTE, HOUR, DAY)  # each is counted by itself, see docs/adr/0008-periods.md
DISPATCH_SPANS: Final = (SECOND, MINUTE, HOUR)  # of what went to which pool
BY_SECOND_MS: Final = HOUR * 1000  # windows up to this begin with a second, longer with a minute
SECONDS_KEPT_MS: Final = 2 * BY_SECOND_MS


def coarsest(period_s: int) -> int:
    """Return the longest span that points of `period_s` seconds can be made of."""
    return max(span for span in SPANS if period_s % span == 0)
