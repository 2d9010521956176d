"""Waits and shares of the starts in a time, by queue and by tenant, from the event record."""

from datetime import timedelta

import pytest
from django.db.models import F

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Event
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.read.clock import now
from jobs.services.record.start_waits import StartWaits, Waits, start_waits
from tests.factories import stored

pytestmark = pytest.mark.usefixtures("store")
HOUR = timedelta(hours=1)


def started(queue: str, number: int, tenant: str, first_ms: int = 1) -> None:
    """Start and complete jobs that waited `first_ms`, and each one millisecond more."""
    stored(number, queue=queue, meta={"tenant_id": tenant}, tenant=tenant)
    claimed = fetch(FetchRequest((queue,), number)).jobs
    for wait_ms, job in enumerate(claimed, first_ms):
        Event.objects.filter(job_id=job.id, to_state=4).update(took_ms=wait_ms)
    ack([Ack(job.id) for job in claimed])


def lately() -> StartWaits:
    """Return the starts of the last hour."""
    return start_waits(now() - HOUR, now() + HOUR)


def test_waits_are_those_that_so_many_percent_do_not_exceed() -> None:
    started("mail", 100, "blue")

    found = lately().queues["mail"]

    assert found == Waits(100, 1.0, 50, 95, 99, 100)


def test_starts_are_counted_by_queue_and_by_tenant() -> None:
    started("mail", 3, "blue")
    started("export", 1, "blue", 70)
    started("export", 4, "red", 10)
    stored(5, queue="mail")  # they wait

    found = lately()

    assert found.starts == 8
    assert {name: (one.starts, one.share) for name, one in found.queues.items()} == {
        "mail": (3, 3 / 8), "export": (5, 5 / 8),
    }  # fmt: skip
    assert {name: one.starts for name, one in found.tenants.items()} == {"blue": 4, "red": 4}
    assert found.tenants["blue"].max_ms == 70
    assert not found.is_cut


def test_only_starts_within_the_time_count() -> None:
    started("mail", 2, "blue")
    Event.objects.update(at=F("at") - HOUR)
    started("mail", 1, "blue")
    end = now()

    assert start_waits(end - HOUR / 2, end).starts == 1
    assert start_waits(end - 2 * HOUR, end - HOUR / 2).starts == 2
    assert start_waits(end - 2 * HOUR, end).starts == 3


def test_without_starts_nothing_is_found() -> None:
    assert lately() == StartWaits(0, {}, {}, is_cut=False)


def test_the_latest_events_count_if_there_are_too_many() -> None:
    started("mail", 5, "blue")
    started("export", 5, "blue")

    found = start_waits(now() - HOUR, now() + HOUR, looked=10)  # five starts and five ends

    assert found.is_cut
    assert set(found.queues) == {"export"}
