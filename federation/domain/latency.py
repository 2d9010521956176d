"""Latency of a region: a moving average of round trips. Spec: federation 4.4, contract 23.4."""

from typing import Final

ALPHA: Final = 0.3


def averaged(average_ms: float | None, sample_ms: float) -> float:
    """Return the average after one more successful round trip; the first round trip sets it."""
    return sample_ms if average_ms is None else ALPHA * sample_ms + (1 - ALPHA) * average_ms
