"""Ask pages in this process, by Django's handler and as an operator who may see everything."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.console.pages import Ask

MOST_MS, MOST_STATEMENTS = 300.0, 15
OPERATOR = "bench"


class PageError(Exception):
    """A page did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a page took; `ms` is the median of the times after the first."""

    ask: Ask
    statements: int
    first_ms: float
    ms: float
    least_ms: float  # on a busy machine nearest to what the page needs
    slowest: str  # its slowest statement, and how long that took

    @property
    def is_within(self) -> bool:
        """It keeps both bounds."""
        return self.ms <= MOST_MS and self.statements <= MOST_STATEMENTS


def measure(asked: Iterable[Ask], times: int) -> Iterator[Found]:
    """Ask each page once with its statements noted, then `times` times. Raises PageError."""
    client = Client()
    client.force_login(User.objects.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "is_superuser": True},
    )[0])  # fmt: skip
    is_warm = False
    for ask in asked:
        if not is_warm:  # what every first request of a process does
            _took_ms(client, ask)
            is_warm = True
        first_ms = _took_ms(client, ask)
        with CaptureQueriesContext(connection) as captured:
            _took_ms(client, ask)
        ran = captured.captured_queries  # the next request forgets them
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
