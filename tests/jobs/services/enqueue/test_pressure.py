"""Events for queues that fill up. Spec: contract 27.4, BP-8."""

from typing import Any

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.loops import CORE
from jobs.models import Event, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.backpressure import watch_pressure
from jobs.services.lanes.queue_config import configure
from jobs.services.operate.queue_removal import delete
from jobs.services.outcome.ack import Ack, ack
from jobs.services.record.events import EventFilter, event_name, latest
from tests.concurrency import at_once, wait_until_complete
from tests.factories import stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def bound(queue: str = "default", **members: Any) -> None:
    """Bound a queue."""
    configure(queue, {"backpressure": members})


def take(number: int) -> None:
    """Claim and complete jobs."""
    ack([Ack(job.id) for job in fetch(FetchRequest(("default",), count=number)).jobs])


def emitted() -> list[tuple[str, dict[str, Any]]]:
    """Return the names of all backpressure events, in order."""
    wait_until_complete()
    wanted = EventFilter(types=("backpressure.warning", "backpressure.cleared"))
    found, _ = latest(wanted, limit=100)
    return [(event_name(event), event.data or {}) for event in reversed(found)]


@spec("BP-8")
def test_a_crossing_is_told_once_up_and_once_down() -> None:
    bound(max_depth=5)
    stored(3)
    assert watch_pressure() == 0

    stored(1)
    assert watch_pressure() == 1
    stored(1)
    assert watch_pressure() == 0
    take(2)
    assert watch_pressure() == 1
    assert watch_pressure() == 0

    common = {"queue": "default", "bound": 5, "unit": "jobs", "threshold": 0.8}
    assert emitted() == [
        ("backpressure.warning", {**common, "depth": 4, "pressure": 0.8}),
        ("backpressure.cleared", {**common, "depth": 3, "pressure": 0.6}),
    ]


@spec("BP-8")
def test_the_next_episode_is_told_anew() -> None:
    bound(max_depth=2, warning_threshold=0.5)
    for _ in range(2):
        stored(1)
        watch_pressure()
        take(1)
        watch_pressure()

    assert [name for name, _ in emitted()] == ["backpressure.warning", "backpressure.cleared"] * 2
    assert Queue.objects.get(name="default").pressed_at is None


@spec("BP-8")
def test_a_bound_in_bytes_warns_too() -> None:
    stored(1, args=["x" * 900])
    bound(max_depth=100, max_size_bytes=1000)

    watch_pressure()

    ((name, facts),) = emitted()
    assert (name, facts["unit"], facts["bound"]) == ("backpressure.warning", "bytes", 1000)


@spec("BP-8")
def test_queues_are_told_apart_and_those_without_a_bound_left_alone() -> None:
    bound("a", max_depth=1)
    bound("b", max_depth=100)
    for queue in ("a", "b", "c"):
        stored(1, queue=queue)

    assert watch_pressure() == 1

    assert [facts["queue"] for _, facts in emitted()] == ["a"]


@spec("BP-8")
def test_a_bound_that_is_raised_or_taken_away_ends_the_warning() -> None:
    for change in ({"max_depth": 100}, {"max_depth": None}):
        bound(max_depth=1)
        stored(1) if not Event.objects.exists() else None
        assert watch_pressure() == 1
        bound(**change)
        assert watch_pressure() == 1

    names = [name for name, _ in emitted()]
    assert names == ["backpressure.warning", "backpressure.cleared"] * 2


@spec("BP-8")
def test_many_who_look_at_once_tell_one_crossing_once() -> None:
    for n in range(8):
        bound(f"q{n}", max_depth=1)
        stored(1, queue=f"q{n}")

    assert sum(at_once([watch_pressure] * 16)) == 8

    assert sorted(facts["queue"] for _, facts in emitted()) == [f"q{n}" for n in range(8)]


def test_a_queue_that_is_deleted_under_pressure_is_forgotten() -> None:
    bound("a", max_depth=1)
    stored(1, queue="a")
    watch_pressure()
    delete("a", "discard", "test")

    assert watch_pressure() == 0


@spec("BP-8")
def test_a_loop_looks_every_second() -> None:
    (loop,) = [loop for loop in CORE if loop.name == "pressure"]

    assert (loop.run, loop.interval_ms) == (watch_pressure, 1000)
