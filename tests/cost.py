"""The number of statements of a request whose caches are filled."""

from collections.abc import Callable
from typing import Final

from django.db import connection
from django.test.utils import CaptureQueriesContext

RUNS: Final = 3


def statements_of(work: Callable[[], object]) -> int:
    """Return the least number of statements of a few runs.

    Some caches last for a second. On a busy machine they end within a run, which then takes more.
    """
    counts = []
    for _ in range(RUNS):
        with CaptureQueriesContext(connection) as captured:
            work()
        counts.append(len(captured))
    return min(counts)
