"""Measure how fast a worker's jobs end, which decides how far ahead it claims."""

from time import monotonic

PACE_S = 0.5  # between measurements


class Pace:
    """Attempts that end per second, over about the latest half second."""

    def __init__(self) -> None:
        """Begin with none."""
        self._ended = 0
        self._at = monotonic()
        self._rate = 0.0

    def per(self, seconds: float, ended: int) -> int:
        """Return how many end in `seconds`, given the number that has ended so far."""
        now = monotonic()
        if now - self._at >= PACE_S:
            self._rate = (ended - self._ended) / (now - self._at)
            self._ended, self._at = ended, now
        return int(self._rate * seconds)
