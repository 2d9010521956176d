"""Requests pages in this process, by Django's handler and with all permissions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.console.pages import Ask

MOST_MS, MOST_STATEMENTS = 300.0, 30
OPERATOR = "bench"


class PageError(Exception):
    """A page did not answer with success."""


@dataclass(frozen=True, slots=True)
class Found:
    """The times of a page; `ms` is the median of the times after the first."""

    ask: Ask
    statements: int
    first_ms: float
    ms: float
    least_ms: float  # on a busy machine the nearest to the page's own time
    slowest: str  # its slowest statement with its time

    @property
    def is_within(self) -> bool:
        """The page keeps both bounds."""
        return self.ms <= MOST_MS and self.statements <= MOST_STATEMENTS


def measure(asked: Iterable[Ask], times: int) -> Iterator[Found]:
    """Request each page once to record its statements, then `times` times. Raises PageError."""
    client = Client()
    client.force_login(User.objects.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "is_superuser": True},
    )[0])  # fmt: skip
    is_warm = False
    for ask in asked:
        if not is_warm:  # the first request of a process does extra work
            _took_ms(client, ask)
            is_warm = True
        first_ms = _took_ms(client, ask)
        with CaptureQueriesContext(connection) as captured:
            _took_ms(client, ask)
        ran = captured.captured_queries  # the next request clears them
        took = sorted(_took_ms(client, ask) for _ in range(times))
        slowest = max(ran, key=lambda one: float(one["time"]), default=None)
        text = f"{float(slowest['time']) * 1000:.0f} ms: {slowest['sql']}" if slowest else ""
        yield Found(ask, len(ran), first_ms, median(took), took[0], text)


def _took_ms(client: Client, ask: Ask) -> float:
    began = perf_counter()
    response = client.get(ask.path)
    if response.streaming:
        response.getvalue()
    took = 1000 * (perf_counter() - began)
    if response.status_code not in {200, 302}:
        raise PageError(f"{ask.path} answered {response.status_code}")
    return took
