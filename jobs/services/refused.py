"""What the database refused for a passing reason: repeated where that is safe, and remembered.

The last refusal that stops all writes is remembered by each process, for health: a probe that
writes would miss a full disk, as small updates find room in pages that are there.
"""

import random
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final, TypeVar

from django.db import Error, OperationalError, connection

from jobs.domain.sqlstates import refusal_of

T = TypeVar("T")

TRIES: Final = 4
PAUSE_S: Final = 0.02  # at most, before the first repetition; twice as long before each other
REMEMBERED_S: Final = 15.0


class _Last:
    at = -REMEMBERED_S
    message = ""


def sqlstate_of(problem: BaseException) -> str | None:
    """Return the code that an error of Django's came with."""
    found: str | None = getattr(problem.__cause__, "sqlstate", None)
    return found


def repeated(run: Callable[[], T], tries: int = TRIES) -> T:
    """Run a transaction, again where others were in its way and the database undid it.

    Inside a transaction `run` runs once: only its owner can repeat it.
    """
    for attempt in range(1, tries + 1):
        try:
            return run()
        except OperationalError as problem:
            is_passing = refusal_of(sqlstate_of(problem) or "").may_repeat
            if not is_passing or attempt == tries or connection.in_atomic_block:
                raise
        # the others need a moment; a random one, so that two do not meet again
        threading.Event().wait(random.random() * PAUSE_S * attempt)  # noqa: S311 - no secret
    raise AssertionError("the loop returns or raises")


def note(problem: Error) -> None:
    """Remember a refusal if it stops all writes."""
    refusal = refusal_of(sqlstate_of(problem) or "")
    if refusal.stops_writes:
        _Last.at, _Last.message = monotonic(), refusal.message


def lately() -> str | None:
    """Say why writes were refused lately; None: none was."""
    return _Last.message if monotonic() - _Last.at < REMEMBERED_S else None


def forget() -> None:
    """Remember nothing, for tests."""
    _Last.at = -REMEMBERED_S
