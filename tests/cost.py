"""The number of statements of a request whose caches are filled."""

from collections.abc import Callable
from typing import Final

from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

RUNS: Final = 3


def statements_of(work: Callable[[], object]) -> int:
    """Return the least number of statements of a few runs, whose response must be a success.

    Some caches last for a second. On a busy machine they end within a run, which then takes more.
    """
    counts = []
    for _ in range(RUNS):
        with CaptureQueriesContext(connection) as captured:
            done = work()
        assert not isinstance(done, HttpResponse) or done.status_code == 200
        counts.append(len(captured))
    return min(counts)
