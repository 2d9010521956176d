"""Retention keeps events that the relay must still read, up to a bound.

Spec: contract 25.2, 26 WH-10.
"""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from prometheus_client import REGISTRY

from jobs import queries
from jobs.models import Event
from jobs.services.outcome.retain import Retainer
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.unread import fullness, unread
from tests.concurrency import wait_until_complete
from tests.factories import stored_ids
from tests.spec import spec
from tests.webhooks.conftest import Subscribe
from webhooks.models import Delivery, Subscription
from webhooks.services import subscriptions
from webhooks.services.relay import relay

LONG_AGO = 8 * 86_400_000  # longer than the retention of events


@pytest.fixture
def set_to(settings: Any) -> Callable[..., None]:
    """Return a function that changes settings of the core."""

    def change(**ojs: Any) -> None:
        settings.OJS = {**settings.OJS, **ojs}

    return change


def old_events(number: int) -> None:
    """Record events in separate transactions and age them beyond their retention."""
    for _ in range(number):
        stored_ids(1)
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass
    Event.objects.update(at=queries.ago(LONG_AGO))
    Subscription.objects.update(active_since=queries.ago(2 * LONG_AGO))


def retain_all() -> int:
    """Remove all rows whose retention has passed; return their number."""
    retain, total = Retainer(), 0
    while removed := retain():
        total += removed
    return total


def lost() -> float:
    """Return the number of lost events so far."""
    return REGISTRY.get_sample_value("ojs_events_lost_total") or 0


@spec("WH-10")
def test_events_stay_until_they_are_relayed(subscribe: Subscribe) -> None:
    subscribe("job.enqueued")
    old_events(6)

    assert retain_all() == 0
    assert unread() >= 6

    while relay():
        pass
    assert Delivery.objects.count() == 6
    assert unread() <= 1  # the last transaction counts as unread, since it may have more events
    Event.objects.update(at=queries.ago(LONG_AGO))
    removed = retain_all()
    assert removed >= 5
    assert Event.objects.count() <= 1


@pytest.mark.parametrize("ended", ["switched off", "deleted", "never made"])
@spec("WH-10")
def test_nothing_is_kept_for_nobody(subscribe: Subscribe, ended: str) -> None:
    if ended != "never made":
        one = subscribe("job.enqueued")
        if ended == "deleted":
            subscriptions.delete(one.id)
        else:
            subscriptions.change(one.id, None, {"active": False})
    old_events(4)

    assert retain_all() >= 4
    assert not Event.objects.exists()
    assert fullness() == 0


@spec("contract 25.2")
def test_beyond_the_bound_unread_events_leave_and_operators_are_told(
    subscribe: Subscribe, set_to: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    subscribe("job.enqueued")
    set_to(RETENTION_UNREAD_EVENTS=5)
    old_events(12)
    before = lost()
    assert fullness() > 1

    with caplog.at_level(logging.ERROR, "ojs.retain"):
        removed = retain_all()

    assert Event.objects.count() == 5
    assert lost() - before == removed > 0
    assert "events.lost" in caplog.text
    while relay():
        pass
    assert Delivery.objects.count() == 5


@spec("contract 25.2")
def test_the_number_of_events_yields_to_a_reader_too(
    subscribe: Subscribe, set_to: Callable[..., None]
) -> None:
    subscribe("job.enqueued")
    set_to(RETENTION_EVENT_ROWS=3, RETENTION_EVENTS="0")
    old_events(10)

    assert retain_all() == 0

    while relay():
        pass
    assert retain_all() >= 7
    assert Event.objects.count() <= 3


@spec("contract 32.3")
def test_operators_see_how_much_waits_before_any_is_lost(
    subscribe: Subscribe, set_to: Callable[..., None]
) -> None:
    subscribe("job.enqueued")
    old_events(8)
    set_to(RETENTION_UNREAD_EVENTS=12)

    found = Client().get("/ojs/v1/admin/observability/health").json()
    text = Client().get("/metrics").content.decode()

    (check,) = [one for one in found["checks"] if one["name"] == "events_unread_ratio"]
    assert (check["status"], check["limit"]) == ("failed", 0.5)
    assert "events_unread_ratio" in found["slo_violations"]
    assert "ojs_events_unread " in text
