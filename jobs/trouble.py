"""Log repeated failures: one line when they begin, one line when they end.

A lost database fails every loop and every thread of a process. They share one line; the line of its
return has the number of failures. Any other failure has a line with its traceback, the same failure
at most once a minute.
"""

import logging
from threading import Lock
from time import monotonic
from typing import Any, Final

from jobs.domain.errors import BackendError
from jobs.repeat import refusal
from ojs_tasks.worker.trouble import AGAIN_S, Pauses

STABLE_S: Final = 1.0  # without a failure, until the database counts as back


class Database:
    """Whether the database is away, as the threads of this process see it."""

    def __init__(self, logger: logging.Logger) -> None:
        """Start with an available database."""
        self._logger = logger
        self._lock = Lock()
        self._since: float | None = None
        self._last = self._logged = 0.0
        self._failures = 0

    def failed(self, problem: Exception, where: str) -> None:
        """Count a failure."""
        with self._lock:
            now = self._last = monotonic()
            is_new = self._since is None
            if is_new:
                self._since, self._failures = now, 0
            self._failures += 1
            if not is_new and now - self._logged < AGAIN_S:
                return
            self._logged = now
            facts = {"where": where, "failures": self._failures, "error": _first_line(problem)}
        self._logger.warning("database.lost", extra=facts)

    def answered(self) -> None:
        """Record a success."""
        if self._since is None:
            return
        with self._lock:
            now = monotonic()
            if self._since is None or now - self._last < STABLE_S:
                return
            facts = {"failures": self._failures, "seconds": round(now - self._since, 1)}
            self._since = None
        self._logger.warning("database.back", extra=facts)


database = Database(logging.getLogger("ojs.database"))


class Attempts:
    """The repeated tries of one thread, with growing and random pauses."""

    def __init__(
        self, logger: logging.Logger, message: str, first_s: float, most_s: float, **facts: Any
    ) -> None:
        """Set the line's message and facts, and the pauses."""
        self._logger, self._message, self._facts = logger, message, facts
        self._pauses = Pauses(first_s, most_s)
        self._failures = 0
        self._kind: type[Exception] | None = None
        self._logged = 0.0

    def failed(self, problem: Exception) -> float:
        """Record a failure; returns how many seconds to pause before the next try."""
        found = refusal(problem)
        if found is not None and found.error is not BackendError:
            database.failed(problem, str(self._facts.get("loop", self._message)))
        else:
            self._log(problem)
        return self._pauses.take()

    def went_well(self) -> None:
        """Record a success."""
        self._pauses.reset()
        self._failures, self._kind = 0, None
        database.answered()

    def _log(self, problem: Exception) -> None:
        self._failures += 1
        now = monotonic()
        if type(problem) is self._kind and now - self._logged < AGAIN_S:
            return
        self._kind, self._logged = type(problem), now
        facts = {**self._facts, "failures": self._failures}
        self._logger.error(self._message, extra=facts, exc_info=problem)


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
