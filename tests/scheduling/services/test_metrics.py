"""Metrics of pools and queue rotation. Spec: fair-scheduling 11.2; contract 20.6."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from jobs.domain.states import State
from jobs.loops import run_once
from jobs.models import Dispatch, Event, FoldPosition
from jobs.services.health import exposition as module
from jobs.services.outcome.nack import Nack, nack
from scheduling.models import QueueWatch
from scheduling.services.watch import watch
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory
from tests.scheduling.pools import fill, put, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

PREFIX = "ojs_scheduling_"
Samples = dict[tuple[str, ...], float]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Clear the caches between tests."""
    module._cached.clear()
    yield
    module._cached.clear()


def families() -> dict[str, Metric]:
    """Aggregate the events and read the exposition; return families without their prefix."""
    wait_until_complete()
    FoldPosition.objects.get_or_create(id=1, defaults={"stamp": "0"})
    run_once(["fold"])
    module._cached.clear()
    text = Client().get("/metrics").content.decode()
    found = text_string_to_metric_families(text)
    return {
        family.name.removeprefix(PREFIX): family
        for family in found
        if family.name.startswith(PREFIX)
    }


def values(family: Metric, suffix: str = "") -> Samples:
    """Return the samples of a family by their labels: queue, pool, bound."""
    return {
        tuple(sample.labels[n] for n in ("queue", "pool", "le") if n in sample.labels): sample.value
        for sample in family.samples
        if sample.name == family.name + suffix
    }


@spec("FS-11.2-a")
def test_the_five_metrics_have_the_names_types_and_labels_of_the_contract() -> None:
    put("p", "a", concurrency=4, starvation_prevention={"rotation_interval": "PT1S"})
    fill(a=2, b=1)
    taken(1, pool="p")
    taken(1, queues=["b"])
    watch()
    ago = timedelta(seconds=5)
    QueueWatch.objects.update(since=F("since") - ago)
    Dispatch.objects.update(last_at=F("last_at") - ago)
    Event.objects.update(at=F("at") - ago)
    watch()

    found = families()

    assert {
        name: (family.type, *{frozenset(s.labels.keys() - {"le"}) for s in family.samples})
        for name, family in found.items()
    } == {
        "dispatch": ("counter", {"queue", "pool"}),
        "dispatch_ratio": ("gauge", {"queue"}),
        "queue_wait_duration_seconds": ("histogram", {"queue"}),
        "pool_utilization": ("gauge", {"pool"}),
        "starvation_events": ("counter", {"queue"}),
    }
    assert values(found["dispatch"], "_total") == {("a", "p"): 1, ("b", "default"): 1}
    assert values(found["dispatch_ratio"]) == {("a",): 0.5, ("b",): 0.5}
    assert values(found["pool_utilization"]) == {("p",): 0.25}
    assert values(found["starvation_events"], "_total") == {("a",): 1}
    assert values(found["queue_wait_duration_seconds"], "_count") == {("a",): 1, ("b",): 1}


@spec("FS-11.2-a")
def test_dispatches_are_counted_once_each_by_queue_and_pool() -> None:
    put("p", "a", "b")
    fill(a=4, b=2)
    for job in taken(3, pool="p"):
        nack([Nack(job["id"], None, requeue=True)])
    families()
    taken(2, pool="none", queues=["a"])  # an undefined pool
    taken(9, pool="p")

    counted = values(families()["dispatch"], "_total")

    assert sum(counted.values()) == 9
    assert counted["a", "none"] == 2
    assert counted["a", "p"] + counted["b", "p"] == 7
    assert values(families()["dispatch"], "_total") == counted


@spec("FS-11.2-a")
def test_the_ratio_is_that_of_the_last_minute() -> None:
    fill(a=3, b=1, c=1)
    taken(1, queues=["c"])
    Event.objects.update(at=F("at") - timedelta(seconds=65))
    families()
    taken(3, queues=["a"])
    taken(1, queues=["b"])

    assert values(families()["dispatch_ratio"]) == {("a",): 0.75, ("b",): 0.25, ("c",): 0}


@spec("FS-11.2-a")
def test_waits_of_all_types_of_a_queue_are_one_histogram() -> None:
    JobFactory.create(queue="a", type="x.one", state=State.ACTIVE)
    JobFactory.create(queue="a", type="x.two", state=State.ACTIVE)
    for ms, event in zip((40, 7_000), Event.objects.filter(kind=3), strict=True):
        Event.objects.filter(seq=event.seq).update(took_ms=ms)

    waits = families()["queue_wait_duration_seconds"]

    assert values(waits, "_sum") == {("a",): pytest.approx(7.04)}
    buckets = values(waits, "_bucket")
    assert [buckets["a", le] for le in ("0.01", "0.05", "5.0", "10.0", "+Inf")] == [0, 1, 1, 2, 2]


@spec("FS-11.2-a")
def test_utilization_is_of_pools_with_a_cap() -> None:
    put("p", "a", concurrency=3)
    put("q", "b")
    put("r", "c", concurrency=2)
    fill(a=2, b=2)
    taken(2, pool="p")
    taken(2, pool="q")

    found = values(families()["pool_utilization"])

    assert found == {("p",): pytest.approx(2 / 3), ("r",): 0}


def test_labels_beyond_their_bound_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LABELS", 2)
    put("p", "a", "b", "c")
    fill(a=1, b=2, c=3)
    taken(9, pool="p")

    found = families()

    assert values(found["dispatch"], "_total") == {("a", "p"): 1, ("b", "p"): 2, ("_other", "p"): 3}
    assert values(found["dispatch_ratio"])["_other",] == 0.5
    assert values(found["queue_wait_duration_seconds"], "_count")["_other",] == 3
