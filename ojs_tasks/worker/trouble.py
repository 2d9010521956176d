"""Log repeated failures: when they begin, once a minute, and when they end."""

import logging
import random
from time import monotonic
from typing import Any, Final

AGAIN_S: Final = 60.0  # how often a continuing failure is logged


class Pauses:
    """Pauses between tries, which grow and are random."""

    def __init__(self, first_s: float, most_s: float) -> None:
        """Set the first pause and the longest."""
        self._first_s, self._most_s = first_s, most_s
        self._next_s = first_s

    def take(self) -> float:
        """Return the next pause in seconds: between half of its length and the whole."""
        pause_s = self._next_s
        self._next_s = min(pause_s * 2, self._most_s)
        return pause_s * (0.5 + random.random() / 2)  # noqa: S311 - spreads tries, no secret

    def reset(self) -> None:
        """Begin again with the first pause."""
        self._next_s = self._first_s


class Attempts:
    """The repeated tries of one thread, with growing and random pauses."""

    def __init__(
        self, logger: logging.Logger, message: str, first_s: float, most_s: float, **facts: Any
    ) -> None:
        """Set the line's message and facts, and the pauses."""
        self._logger, self._message, self._facts = logger, message, facts
        self._pauses = Pauses(first_s, most_s)
        self._failures = 0
        self._reason = ""
        self._logged = 0.0

    def failed(self, problem: Exception) -> float:
        """Record a failure; returns how many seconds to pause before the next try."""
        self._failures += 1
        now, reason = monotonic(), str(problem)
        if reason != self._reason or now - self._logged >= AGAIN_S:
            self._reason, self._logged = reason, now
            facts = {**self._facts, "failures": self._failures, "error": reason}
            self._logger.warning(self._message, extra=facts)
        return self._pauses.take()

    def went_well(self) -> None:
        """Record a success."""
        if self._failures:
            facts = {**self._facts, "failures": self._failures}
            self._logger.warning(f"{self._message}.over", extra=facts)
        self._pauses.reset()
        self._failures, self._reason = 0, ""
