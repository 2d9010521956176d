"""Starving queues and overloaded pools. Spec: fair-scheduling 11.1; contract 20.6."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.test import override_settings

from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.wire.durations import parse_duration
from jobs.loops import all_loops, run_once
from jobs.models import Dispatch, Event, FoldPosition, Lane, Lease, Ready
from jobs.queries import maintain
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.queue_config import configure
from jobs.services.operate.queues import pause, resume
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.models import Overload, QueueWatch
from scheduling.services import pool_cache
from scheduling.services import watch as module
from scheduling.services.pools import delete
from scheduling.services.watch import watch
from tests.alerts import alerts_of
from tests.concurrency import wait_until_complete
from tests.factories import stored
from tests.scheduling.conftest import event_data
from tests.scheduling.pools import fill, get, put, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

STARVED, OVERLOADED = 90, 91
PREVENTION = {"rotation_interval": "PT1H"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report an overload at most once an hour, so that no test depends on its own duration."""
    assert timedelta(seconds=10) == module.QUIET
    monkeypatch.setattr(module, "QUIET", timedelta(hours=1))


def later(minutes: float = 61) -> None:
    """Move all records back by this time."""
    ago = timedelta(minutes=minutes)
    QueueWatch.objects.update(since=F("since") - ago, told_at=F("told_at") - ago)
    Overload.objects.update(told_at=F("told_at") - ago)
    Event.objects.update(at=F("at") - ago)
    Dispatch.objects.update(last_at=F("last_at") - ago)


def shared(*queues: str, name: str = "p", **body: Any) -> None:
    """Define a pool whose queues may wait for an hour."""
    put(name, *queues, strategy="strict", starvation_prevention=PREVENTION, **body)


def starve(queue: str) -> None:
    """Let a queue with jobs wait too long, and check that the loop reports it."""
    watch()
    later()
    assert watch() == 1
    assert names(STARVED)[-1]["queue"] == queue


def names(kind: int) -> list[dict[str, Any]]:
    """Return the data of all events of a kind, with the queue."""
    events = Event.objects.filter(kind=kind).order_by("stamp", "seq")
    return [{"queue": event.queue, **(event.data or {})} for event in events]


def is_starved(queue: str = "b") -> bool:
    """Return whether the statistics call the queue starved."""
    found = {one["name"]: one["starved"] for one in get("admin/scheduling/stats?pool=p")["queues"]}
    return bool(found[queue])


# --- queues ---------------------------------------------------------------------------------------


@spec("FS-11.1-a")
def test_a_queue_that_gets_nothing_is_told_of_once() -> None:
    shared("a", "b")
    fill(a=9, b=3)
    assert watch() == 0
    later(40)
    assert (watch(), is_starved()) == (0, False)
    taken(1, queues=["a"], pool="p")  # the pool is strict, so b gets no job
    later(25)

    assert watch() == 1

    (event,) = names(STARVED)
    assert event == {
        "queue": "b", "pool": "p", "available_count": 3, "duration": event["duration"],
    }  # fmt: skip
    assert 3_900_000 <= parse_duration(event["duration"]) < 7_200_000
    assert (is_starved("b"), is_starved("a")) == (True, False)
    told = alerts_of("queue_starved")
    assert [(one.kind, one.subject) for one in told] == [("queue_starved", "b")]
    for _ in range(3):
        later(5)
        taken(1, queues=["a"], pool="p")
        assert watch() == 0


@spec("FS-11.1-a")
def test_starvation_is_an_event_like_others() -> None:
    shared("b")
    fill(b=2)
    starve("b")
    wait_until_complete()

    (event,) = get("events?type=scheduling.queue_starved")["events"]

    assert (event["type"], event["subject"]) == ("scheduling.queue_starved", "b")
    assert event["data"] == {
        "queue": "b", "pool": "p", "available_count": 2, "duration": event["data"]["duration"],
    }  # fmt: skip
    assert get("events?type=scheduling.*&queue=b")["events"] == [event]


@spec("FS-11.1-a")
def test_the_next_episode_is_told_anew() -> None:
    shared("b")
    fill(b=5)
    starve("b")
    taken(1, pool="p")

    assert (watch(), is_starved()) == (0, False)
    later(40)
    assert watch() == 0
    starve("b")


@pytest.mark.parametrize("is_aggregated", [False, True])
def test_a_start_ends_the_wait_whether_it_is_aggregated_or_not(is_aggregated: bool) -> None:
    FoldPosition.objects.get_or_create(id=1, defaults={"stamp": "0"})
    shared("b")
    fill(b=5)
    watch()
    later()
    taken(1, pool="p")
    if is_aggregated:
        wait_until_complete()
        run_once(["fold"])

    assert watch() == 0

    starve("b")


def test_a_queue_that_another_pool_serves_does_not_starve() -> None:
    shared("b")
    put("q", "b")
    fill(b=5)
    watch()
    later()
    taken(1, pool="q")

    assert watch() == 0


def test_a_queue_that_was_empty_meanwhile_has_a_new_wait() -> None:
    shared("b")
    (job_id,) = fill(b=1)["b"]
    watch()
    later()
    cancel(job_id)
    assert watch() == 0
    assert not QueueWatch.objects.exists()
    fill(b=1)

    assert watch() == 0
    later(40)
    assert watch() == 0
    starve("b")


def test_a_told_queue_that_runs_empty_and_fills_again_is_told_anew() -> None:
    shared("b")
    (job_id,) = fill(b=1)["b"]
    starve("b")
    cancel(job_id)
    watch()
    assert not is_starved()
    fill(b=1)

    starve("b")


def test_a_paused_queue_does_not_starve_and_its_wait_begins_when_it_goes_on() -> None:
    shared("b")
    fill(b=1)
    watch()
    pause("b")
    later()
    assert watch() == 0
    resume("b")

    assert watch() == 0
    starve("b")


def test_nothing_starves_during_maintenance() -> None:
    shared("b")
    fill(b=1)
    watch()
    maintain("test", None, None, enabled=True)
    later()

    assert watch() == 0
    maintain("test", None, None, enabled=False)
    starve("b")


def test_a_queue_whose_limit_is_reached_does_not_starve() -> None:
    configure("b", {"concurrency": 1})
    shared("b")
    fill(b=2)
    (job,) = taken(2, pool="p")
    watch()
    later()
    assert watch() == 0
    ack([Ack(job["id"])])

    assert watch() == 0
    starve("b")


def test_jobs_that_a_reached_limit_of_their_key_holds_do_not_starve_their_queue() -> None:
    shared("b")
    limited = {"key": "k", "concurrency": 1}
    stored(2, queue="b", rate_limit=limited)
    assert len(taken(2, pool="p")) == 1
    assert Lane.objects.filter(blocked_by__isnull=False).exists()
    watch()
    later()

    assert watch() == 0


def test_expired_jobs_do_not_starve_their_queue() -> None:
    shared("b")
    fill(b=2)
    Ready.objects.update(expires_at=Now() - timedelta(seconds=1))
    watch()
    later()

    assert watch() == 0


def test_queues_of_no_pool_and_of_a_deleted_pool_are_not_watched() -> None:
    fill(a=1, b=1)
    shared("b")
    watch()
    later()
    delete("p", SYSTEM)

    assert watch() == 0
    assert not QueueWatch.objects.exists()


def test_the_interval_counts_whether_prevention_is_on_or_not() -> None:
    put("p", "b", starvation_prevention={"enabled": False, "rotation_interval": "PT1H"})
    put("q", "c", starvation_prevention={"min_dispatch_ratio": 0, "rotation_interval": "PT3H"})
    fill(b=1, c=1)
    starve("b")

    later(150)
    assert watch() == 1
    assert names(STARVED)[-1]["pool"] == "q"


POOLS = [{"name": "s", "queues": ["b"], "starvation_prevention": PREVENTION, "concurrency": 1}]


def test_pools_of_the_settings_are_watched() -> None:
    with override_settings(OJS_SCHEDULING={"POOLS": POOLS}):
        fill(b=2)
        starve("b")
        assert names(STARVED)[0]["pool"] == "s"
        taken(1, pool="s")

        assert watch() == 1
        assert names(OVERLOADED)[0]["pool"] == "s"


def test_a_pool_that_another_process_defined_is_watched() -> None:
    watch()
    fill(b=1)
    before = pool_cache.current()
    shared("b")
    pool_cache.cache.latest = before  # as in a process that missed the change

    starve("b")


def test_the_loop_watches_every_second() -> None:
    (loop,) = [loop for loop in all_loops() if loop.name == "watch"]
    shared("b")
    fill(b=1)
    watch()
    later()

    assert (loop.run, loop.interval_ms) == (watch, 1000)
    assert run_once(["watch"]) == 1


# --- pools ----------------------------------------------------------------------------------------


@spec("FS-11.1-a")
def test_a_pool_whose_cap_holds_jobs_back_is_told_of_now_and_then() -> None:
    patience = {"enabled": False, "rotation_interval": "P1D"}
    put("p", "a", "b", concurrency=2, starvation_prevention=patience)
    put("q", "c", concurrency=1)
    fill(a=3, b=3, c=1)
    assert watch() == 0
    taken(9, pool="p")
    taken(9, pool="q")  # full, with no waiting jobs

    assert watch() == 1

    assert event_data(OVERLOADED) == [{"pool": "p", "active_jobs": 2, "waiting_jobs": 4}]
    later(40)
    assert watch() == 0
    later(25)
    assert watch() == 1
    assert len(event_data(OVERLOADED)) == 2


@spec("FS-11.1-a")
def test_an_overload_is_an_event_like_others() -> None:
    put("p", "a", concurrency=1)
    fill(a=3)
    taken(9, pool="p")
    watch()
    wait_until_complete()

    (event,) = get("events?type=scheduling.pool_overloaded")["events"]

    assert (event["type"], event["subject"]) == ("scheduling.pool_overloaded", "p")
    assert event["data"] == {"pool": "p", "active_jobs": 1, "waiting_jobs": 2}


def test_a_pool_with_room_again_is_not_overloaded() -> None:
    put("p", "a", concurrency=1)
    fill(a=3)
    (job,) = taken(9, pool="p")
    ack([Ack(job["id"])])

    assert watch() == 0


def test_a_pool_is_overloaded_when_all_its_workers_are_full() -> None:
    put("p", "a")
    fill(a=4)
    for worker in ("w1", "w2"):
        heartbeat(Report(worker, pool="p", concurrency=1))
    fetch(FetchRequest((), pool="p", worker_id="w1"))
    assert watch() == 0
    fetch(FetchRequest((), pool="p", worker_id="w2"))

    assert watch() == 1

    assert event_data(OVERLOADED) == [{"pool": "p", "active_jobs": 2, "waiting_jobs": 2}]


def test_a_worker_that_does_not_say_how_much_it_can_run_is_never_full() -> None:
    put("p", "a")
    fill(a=4)
    heartbeat(Report("w1", pool="p", concurrency=1))
    heartbeat(Report("w2", pool="p"))
    for worker in ("w1", "w2"):
        fetch(FetchRequest((), pool="p", worker_id=worker))

    assert watch() == 0


def test_workers_that_name_no_pool_are_in_the_default_one() -> None:
    put("default", "a")
    fill(a=4)
    heartbeat(Report("w1", concurrency=1))
    fetch(FetchRequest(("a",), worker_id="w1"))

    assert watch() == 1

    assert event_data(OVERLOADED) == [{"pool": "default", "active_jobs": 1, "waiting_jobs": 3}]


def test_a_pool_without_workers_is_not_overloaded() -> None:
    put("p", "a")
    fill(a=1)

    assert watch() == 0


def test_a_pool_whose_queues_are_paused_is_not_overloaded() -> None:
    put("p", "a", concurrency=1)
    fill(a=2)
    taken(1, pool="p")
    pause("a")

    assert watch() == 0


def test_a_pool_that_was_deleted_and_made_anew_begins_anew() -> None:
    put("p", "a", concurrency=1)
    fill(a=2)
    taken(1, pool="p")
    assert watch() == 1
    delete("p", SYSTEM)
    put("p", "a", concurrency=1)

    assert watch() == 1
    assert Lease.objects.count() == 1
