"""The spans of counts over time. Spec: contract 28.3, 32.6."""

from typing import Final

SECOND: Final = 1
MINUTE: Final = 60  # seconds
HOUR: Final = 3600
DAY: Final = 86_400
SPANS: Final = (MINUTE, HOUR, DAY)  # each has its own counts, see docs/adr/0008-periods.md
DISPATCH_SPANS: Final = (SECOND, MINUTE, HOUR)  # of starts by pool
BY_SECOND_MS: Final = HOUR * 1000  # longer windows are made of minutes
SECONDS_KEPT_MS: Final = 2 * BY_SECOND_MS


def coarsest(period_s: int) -> int:
    """Return the longest span that divides points of `period_s` seconds."""
    return max(span for span in SPANS if period_s % span == 0)
