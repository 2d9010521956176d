"""Starving queues in a namespace. Spec: fair-scheduling 11.1; MT 6.1, 7.3."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.wire.durations import parse_duration
from jobs.models import Event, Lane, TenantPeriod
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate.queues import pause
from scheduling.models import QueueWatch
from scheduling.services import namespaces
from scheduling.services.watch import watch
from tests.jobs.services.record.test_rates import aggregated
from tests.scheduling.pools import put as put_pool
from tests.spec import spec
from tests.tenancy.wire import push as pushed
from tests.tenancy.wire import put

pytestmark = pytest.mark.usefixtures("store")

STARVED = 90


@pytest.fixture(autouse=True)
def pool(store: None) -> None:
    """Define a pool whose queues may wait for an hour."""
    put_pool("p", "a", "b", starvation_prevention={"rotation_interval": "PT1H"})


def later(minutes: float) -> None:
    """Move all records back by this time."""
    ago = timedelta(minutes=minutes)
    QueueWatch.objects.update(since=F("since") - ago, told_at=F("told_at") - ago)
    Event.objects.update(at=F("at") - ago)
    rows = TenantPeriod.objects.filter(span_s=60)
    # in order of time, so that no row collides with another
    for at in rows.order_by("at").values_list("at", flat=True):
        rows.filter(at=at).update(at=F("at") - ago)


def namespaced(tenant: str, number: int = 1, queue: str = "a", status: int = 201) -> None:
    """Give a tenant a namespace and jobs in it."""
    put(tenant, status=status, isolation="namespace")
    for _ in range(number):
        pushed(tenant, queue=queue)


def names() -> list[dict[str, Any]]:
    """Return the data of all starvation events, in order."""
    events = Event.objects.filter(kind=STARVED).order_by("stamp", "seq")
    return [{"queue": one.queue, "tenant": one.tenant, **(one.data or {})} for one in events]


def take(tenant: str, queue: str = "a") -> int:
    """Let a worker of the tenant take a job."""
    return len(fetch(FetchRequest((queue,), tenant=tenant)).jobs)


@spec("MT-6.1-a")
def test_a_namespace_that_nobody_serves_is_told_of_once() -> None:
    namespaced("acme", 3)
    pushed("open", queue="a")
    aggregated()
    assert watch() == 0
    later(40)
    assert take("open") == 1  # a job of another tenant, which does not help the namespace
    assert watch() == 0
    later(25)

    assert watch() == 1

    (event,) = names()
    assert event == {
        "queue": "a", "tenant": "acme", "tenant_id": "acme", "pool": "p", "available_count": 3,
        "duration": event["duration"],
    }  # fmt: skip
    assert parse_duration(event["duration"]) == pytest.approx(65 * 60_000, abs=60_000)
    later(70)
    assert watch() == 0


@pytest.mark.parametrize("is_aggregated", [True, False])
@spec("MT-6.1-a")
def test_a_namespace_that_is_served_does_not_starve(is_aggregated: bool) -> None:
    namespaced("acme", 5)
    watch()
    later(50)
    assert take("acme") == 1
    if is_aggregated:
        aggregated()
    later(20)
    assert watch() == 0
    later(30)
    assert watch() == 0
    later(30)

    assert watch() == 1  # an hour after the start
    assert take("acme") == 1
    later(1)
    assert watch() == 0
    later(65)
    assert watch() == 1  # and again


@pytest.mark.parametrize("how", ["taken", "paused", "moved", "held", "not of a pool"])
@spec("MT-6.1-a")
def test_a_namespace_without_jobs_to_hand_out_is_not_watched(how: str) -> None:
    namespaced("acme", queue="other" if how == "not of a pool" else "a")
    watch()
    assert QueueWatch.objects.count() == (how != "not of a pool")
    if how == "taken":
        take("acme")
        take("acme")
    elif how == "paused":
        pause("a")
    elif how == "moved":
        put("acme", status=200, isolation="hybrid")
        take("acme")
    elif how == "held":
        Lane.objects.update(paused=True)
    later(90)

    assert watch() == 0
    assert not QueueWatch.objects.exists()


@spec("MT-6.1-a")
def test_many_namespaces_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "MOST", 2)
    monkeypatch.setattr(namespaces._Place, "after", "")
    for n in range(5):
        namespaced(f"t{n}")
    namespaced("t0", queue="b", status=200)
    for _ in range(3):
        watch()
    assert QueueWatch.objects.count() == 6
    watch()  # begins again behind the last namespace
    later(90)

    assert [watch() for _ in range(4)] == [2, 2, 2, 0]
    assert sorted((one["tenant"], one["queue"]) for one in names()) == [
        ("t0", "a"), ("t0", "b"), ("t1", "a"), ("t2", "a"), ("t3", "a"), ("t4", "a"),
    ]  # fmt: skip
