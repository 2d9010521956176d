"""Limits under many fetchers: never exceeded, in any window. Spec: contract 27.2."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Event, Hold, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

FETCHERS, LIMIT = 32, 3
STARTED, LEFT_ACTIVE = 3, 4  # Event.kind, Event.from_state


def work_off(*queues: str) -> None:
    """Claim and acknowledge in many threads until no job is available."""

    def work() -> None:
        while Ready.objects.exists():
            jobs = fetch(FetchRequest(queues or ("default",), count=2)).jobs
            ack([Ack(job.id) for job in jobs])

    at_once([work] * FETCHERS)


def most_at_once() -> int:
    """Replay the event record and return the maximum number of active jobs."""
    active = most = 0
    for kind, before in Event.objects.order_by("stamp", "seq").values_list("kind", "from_state"):
        active += (kind == STARTED) - (before == LEFT_ACTIVE)
        most = max(most, active)
    return most


def starts() -> list[Any]:
    """Return the start times of jobs in order."""
    return sorted(Event.objects.filter(kind=STARTED).values_list("at", flat=True))


def most_in(times: Sequence[Any], window: timedelta) -> int:
    """Return the maximum number of times in any window, its end excluded."""
    return max(bisect_left(times, at + window) - n for n, at in enumerate(times))


@pytest.mark.parametrize("group", ["key", "queue", "tenant"])
@spec("RL-1")
def test_concurrency_is_never_exceeded(group: str) -> None:
    limit = {"rate_limit": {"key": "k", "concurrency": LIMIT}} if group == "key" else {}
    for n in range(4):
        stored(50, queue=f"q{n % 2}", priority=n, **limit)
    if group == "queue":
        for queue in ("q0", "q1"):
            configure(queue, {"concurrency": LIMIT})
    if group == "tenant":
        lanes.set_weight_and_cap("_default", weight=1, cap=LIMIT)

    work_off("q0", "q1")

    assert most_at_once() <= LIMIT * (2 if group == "queue" else 1)
    assert not Hold.objects.exists()
    assert_store_is_sound()


@pytest.mark.parametrize("group", ["key", "queue"])
@spec("RL-2")
def test_no_window_has_more_starts_than_the_rate(group: str) -> None:
    window = timedelta(milliseconds=400)
    rate = {"limit": 7, "period": "PT0.4S"}
    stored(30, rate_limit=rate | ({"key": "k"} if group == "key" else {}))

    work_off()

    found = starts()
    assert len(found) == 30
    assert most_in(found, window) <= 7


@spec("RL-3")
def test_no_two_starts_lie_closer_than_the_throttle_says() -> None:
    stored(15, rate_limit={"key": "k", "throttle": {"limit": 20, "period": "PT1S"}})

    work_off()

    found = starts()
    assert len(found) == 15
    assert min(later - earlier for earlier, later in pairwise(found)) >= timedelta(milliseconds=50)


@spec("RL-4")
def test_limits_of_several_kinds_hold_together_and_nothing_gets_stuck() -> None:
    """Claim from two queues in both orders; the queues share a key and a tenant."""
    for queue in ("a", "b"):
        configure(queue, {"concurrency": 4})
        stored(60, queue=queue, rate_limit={"key": "k", "concurrency": 5})
        stored(60, queue=queue)
    lanes.set_weight_and_cap("_default", weight=1, cap=6)

    def work(order: tuple[str, ...]) -> None:
        while Ready.objects.exists():
            ack([Ack(job.id) for job in fetch(FetchRequest(order, count=4)).jobs])

    at_once([lambda n=n: work(("a", "b") if n % 2 else ("b", "a")) for n in range(16)])  # type: ignore[misc]  # binds

    assert most_at_once() <= 6
    assert_store_is_sound()
