"""Recent dispatches of queues. Spec: fair-scheduling 10.2; contract 20.1, 20.3, D-FS-2."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs.loops import run_once
from jobs.models import DispatchPeriod, Event, FoldPosition
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from tests.concurrency import wait_until_complete
from tests.scheduling.pools import fill, get, put, refused, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

PATH = "admin/scheduling/stats"


def aggregate_events() -> None:
    """Aggregate the events, from a stored position: otherwise the first run would only store it."""
    wait_until_complete()
    FoldPosition.objects.get_or_create(id=1, defaults={"stamp": "0"})
    run_once(["fold"])


def shown(query: str = "") -> dict[str, dict[str, Any]]:
    """Return the queues by name."""
    return {queue["name"]: queue for queue in get(PATH + query)["queues"]}


def numbers(found: dict[str, dict[str, Any]], name: str = "dispatched") -> dict[str, Any]:
    """Return this member of each queue."""
    return {queue: one[name] for queue, one in found.items()}


@pytest.mark.parametrize("is_aggregated", [False, True])
@spec("FS-10.2-a")
def test_every_queue_is_shown_with_its_part_of_the_last_minute(is_aggregated: bool) -> None:
    put("p", "a", "b", strategy="weighted", weights={"a": 3})
    fill(a=5, b=5, c=1)
    ids = [job["id"] for job in taken(4, pool="p")]
    taken(1, queues=["c"])
    ack([Ack(ids[0])])
    if is_aggregated:
        aggregate_events()

    answer = get(PATH)

    assert set(answer) == {"queues", "window", "strategy", "stats"}
    assert (answer["window"], answer["strategy"]) == ("PT1M", "round-robin")
    assert answer["stats"] == {"queues": answer["queues"], "window": "PT1M"}
    found = {queue["name"]: queue for queue in answer["queues"]}
    assert list(found) == ["a", "b", "c"]
    assert set(found["a"]) == {
        "name", "dispatch_count_1m", "dispatch_ratio_1m", "avg_wait_ms", "active_jobs",
        "dispatched", "weight", "starved", "available_jobs",
    }  # fmt: skip
    assert numbers(found) == numbers(found, "dispatch_count_1m") == {"a": 3, "b": 1, "c": 1}
    assert numbers(found, "dispatch_ratio_1m") == {"a": 0.6, "b": 0.2, "c": 0.2}
    assert numbers(found, "available_jobs") == {"a": 2, "b": 4, "c": 0}
    assert sum(numbers(found, "active_jobs").values()) == 4
    assert numbers(found, "weight") == {"a": 3, "b": 1, "c": 1}
    assert not any(numbers(found, "starved").values())


@spec("FS-10.2-a")
def test_ratios_add_up_to_one() -> None:
    fill(a=1, b=1, c=1)
    taken(3, queues=["a", "b", "c"])

    assert sum(numbers(shown(), "dispatch_ratio_1m").values()) == pytest.approx(1)


@spec("FS-10.2-a")
def test_an_empty_window_is_all_zeros() -> None:
    put("p", "a")
    fill(b=1)

    found = shown()

    assert list(found) == ["a", "b"]
    for queue in found.values():
        assert (queue["dispatched"], queue["dispatch_ratio_1m"], queue["avg_wait_ms"]) == (0, 0, 0)


@spec("FS-10.2-a")
def test_wait_is_the_mean_from_available_to_active() -> None:
    fill(a=2)
    taken(2, queues=["a"])
    for ms, event in zip((1000, 2001), Event.objects.filter(kind=3), strict=True):
        Event.objects.filter(seq=event.seq).update(took_ms=ms)

    before = shown()["a"]["avg_wait_ms"]
    aggregate_events()

    assert before == shown()["a"]["avg_wait_ms"] == 1500.5


@pytest.mark.parametrize("is_aggregated", [False, True])
def test_of_a_pool_what_its_own_workers_were_given(is_aggregated: bool) -> None:
    put("p", "b", "a", strategy="strict")
    put("q", "a", strategy="weighted", weights={"a": 7})
    fill(a=4, b=2, c=1)
    taken(3, pool="p")
    taken(2, pool="q")
    taken(1, queues=["c"])
    if is_aggregated:
        aggregate_events()

    p, q = get(f"{PATH}?pool=p"), get(f"{PATH}?pool=q")

    assert (p["strategy"], q["strategy"]) == ("strict", "weighted")
    assert [queue["name"] for queue in p["queues"]] == ["b", "a"]  # in the order of the pool
    assert [queue["dispatched"] for queue in p["queues"]] == [2, 1]
    assert [queue["active_jobs"] for queue in p["queues"]] == [2, 1]
    (a,) = q["queues"]
    assert (a["dispatched"], a["dispatch_ratio_1m"], a["active_jobs"]) == (2, 1, 2)
    assert (a["available_jobs"], a["weight"], p["queues"][1]["weight"]) == (1, 7, 1)


def test_another_window_has_names_without_the_minute() -> None:
    fill(a=1)
    taken(1, queues=["a"])

    answer = get(f"{PATH}?window=PT5M")

    (a,) = answer["queues"]
    assert answer["window"] == answer["stats"]["window"] == "PT5M"
    assert (a["dispatch_count"], a["dispatch_ratio"], a["dispatched"]) == (1, 1, 1)
    assert not {"dispatch_count_1m", "dispatch_ratio_1m"} & a.keys()
    assert "dispatch_count_1m" in get(f"{PATH}?window=PT60S")["queues"][0]
    assert get(f"{PATH}?window=")["window"] == "PT1M"


@pytest.mark.parametrize(
    ("window", "ago", "counted"),
    [
        ("PT1M", timedelta(seconds=15), 1),
        ("PT1M", timedelta(seconds=62), 0),
        ("PT10S", timedelta(seconds=12), 0),
        ("PT5M", timedelta(seconds=62), 1),
        ("PT5M", timedelta(seconds=302), 0),
        ("PT1H", timedelta(minutes=59), 1),
        ("PT1H", timedelta(minutes=60, seconds=2), 0),
        ("PT6H", timedelta(hours=5, minutes=59), 1),
        ("PT6H", timedelta(hours=6, minutes=2), 0),
        ("P1D", timedelta(hours=23, minutes=59), 1),
        ("P1D", timedelta(hours=24, minutes=2), 0),
    ],
)
@pytest.mark.parametrize("is_aggregated", [False, True])
@spec("FS-10.2-a")
def test_the_window_is_exact_whatever_it_is_counted_by(
    window: str, ago: timedelta, counted: int, *, is_aggregated: bool
) -> None:
    fill(a=1)
    taken(1, queues=["a"])
    Event.objects.filter(kind=3).update(at=F("at") - ago)
    if is_aggregated:
        aggregate_events()
        assert DispatchPeriod.objects.count() == 3  # a second, a minute, an hour

    assert shown(f"?window={window}")["a"]["dispatched"] == counted


def test_counts_are_the_same_while_a_part_is_aggregated() -> None:
    fill(a=6, b=6)
    taken(4, queues=["a", "b"])
    aggregate_events()
    taken(3, queues=["a"])

    assert numbers(shown()) == {"a": 5, "b": 2}


def test_what_was_aggregated_with_a_long_delay_goes_where_it_belongs() -> None:
    fill(a=2)
    taken(1, queues=["a"])
    aggregate_events()
    taken(1, queues=["a"])
    Event.objects.filter(kind=3).update(at=F("at") - timedelta(seconds=70))

    aggregate_events()

    assert shown()["a"]["dispatched"] == 1
    assert shown("?window=PT2M")["a"]["dispatched"] == 2


@pytest.mark.parametrize(
    "window", ["1x", "60", "PT0S", "PT0.5S", "P1DT1S", "P2D", "-PT1M", "P", "%00", "PT1M%20"]
)
def test_a_window_that_makes_no_sense_is_named(window: str) -> None:
    details = refused(send("GET", f"{PATH}?window={window}"), 400)

    assert details["field"] == "window"


@pytest.mark.parametrize("name", ["none", "default", "a/b", "%C3%A4"])
def test_a_pool_that_is_not_there_is_not_found(name: str) -> None:
    refused(send("GET", f"{PATH}?pool={name}"), 404, "not_found")


def test_a_pool_with_a_nul_is_refused() -> None:
    assert refused(send("GET", f"{PATH}?pool=%00"), 400)["field"] == "pool"


def test_paused_queues_and_those_of_no_pool_are_shown() -> None:
    fill(a=1)
    pause("a")
    pause("new")

    assert numbers(shown(), "available_jobs") == {"a": 1, "new": 0}
