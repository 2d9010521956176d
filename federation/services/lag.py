"""How far the regions are behind in what they know of one another."""

from collections.abc import Mapping


def lags_ms() -> Mapping[str, int | None]:
    """Return the milliseconds that each peer's replication lags; absent: not replicated to."""
    return {}
