"""Measures what the list of findings costs: looks at all rules, as by the loop `attention`."""

from dataclasses import dataclass
from statistics import median
from time import perf_counter

from attention.extension import AttentionExtension
from attention.services.look import look
from jobs import caches

MOST_SHARE = 0.01  # of a core


@dataclass(frozen=True, slots=True)
class Looks:
    """The times of looks; the first evaluates every rule, the later ones leave out rare rules."""

    first_ms: float
    ms: float

    @property
    def share(self) -> float:
        """Return the share of a core at most: server and database together take the whole time."""
        (loop,) = AttentionExtension().loops()
        return self.ms / 1000 / (self.ms / 1000 + loop.pause_s(self.ms / 1000))

    def __str__(self) -> str:
        """Return the line of the report."""
        return (
            f"findings: first look {self.first_ms:.0f} ms, later {self.ms:.0f} ms (median),"
            f" {self.share:.2%} of a core with the pauses of the loop"
            f"{'  ABOVE' if self.share > MOST_SHARE else ''}"
        )


def looks(times: int) -> Looks:
    """Look `times` times after the first."""
    caches.clear_all()
    first_ms = _took_ms()
    return Looks(first_ms, median(_took_ms() for _ in range(times)))


def _took_ms() -> float:
    began = perf_counter()
    look()
    return 1000 * (perf_counter() - began)
