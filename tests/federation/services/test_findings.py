"""Findings about regions, as operators see them."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from attention.services.look import look
from federation.domain.breaker import Outcome, Permit, State
from federation.domain.health import Status
from federation.models import FederatedJob, Region, RegionHealth, RegionMinute, ReplicationPeer
from federation.services.health import breakers, minutes
from federation.services.registry import regions
from federation.services.registry.regions import registry
from federation.services.replication import lag
from federation.services.routing import route
from jobs.domain.access.caller import Caller
from jobs.queries import ago, now, tick
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.models import QueueWatch
from tenancy.models import Noise
from tests.alerts import alerts_of
from tests.federation.replication import rig
from tests.federation.stub import Stub
from tests.federation.wire import federate, pass_time
from webhooks.models import Subscription

pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]
KINDS = ("region_down", "region_open", "region_skewed", "replication_late")


def alerted() -> list[tuple[str, str]]:
    return [(one.kind, one.subject) for one in alerts_of(*KINDS)]


def probe(*names: str) -> None:
    regions.clear()
    route.probe_all(names, registry().configured)


def test_region_that_is_down_is_told_with_why_until_it_answers(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    probe("eu")
    assert alerted() == []
    eu.health = (503, {})
    probe("eu")

    (alert,) = alerts_of(*KINDS)

    assert (alert.kind, alert.subject) == ("region_down", "eu")
    assert "HTTP 503" in alert.text
    since = RegionHealth.objects.get(region="eu").status_at
    assert alert.since == since
    probe("eu")
    assert RegionHealth.objects.get(region="eu").status_at == since
    eu.health = (200, {"status": "ok"})
    probe("eu")
    assert alerted() == []


def test_breaker_that_is_open_is_told_instead(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu, circuit_breaker={"failure_threshold": 1})
    eu.health = (503, {})

    probe("eu")

    (alert,) = alerts_of(*KINDS)
    assert (alert.kind, alert.subject) == ("region_open", "eu")
    assert "down" in alert.text


def test_breaker_that_was_opened_by_hand_is_told_as_such(stubs: Stubs) -> None:
    federate(*stubs("eu"))
    breakers.force("eu", State.OPEN, Caller("ada"))

    (alert,) = alerts_of(*KINDS)

    assert "by hand" in alert.text


def test_region_that_is_disabled_is_no_matter(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    eu.health = (503, {})
    probe("eu")

    Region.objects.filter(id="eu").update(enabled=False)

    assert alerted() == []


def test_clock_of_a_region_is_compared_with_the_one_here(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    probe("eu")
    row = RegionHealth.objects.get(region="eu")
    assert row.skew_s is not None
    assert abs(row.skew_s) <= 60
    assert row.skewed_at is None

    with_permit = Permit()
    off = breakers.Verdict(
        Outcome.SUCCESS, None, Status.HEALTHY, 5.0,
        now() - timedelta(seconds=300),
    )  # fmt: skip
    breakers.record_outcome("eu", with_permit, off, registry().configured.breaker_rules)

    (alert,) = alerts_of(*KINDS)
    assert (alert.kind, alert.subject) == ("region_skewed", "eu")
    assert "behind" in alert.text
    probe("eu")
    assert alerted() == []


def test_peer_that_is_late_is_told_from_when_it_was() -> None:
    rig.federate(max_lag_seconds=30)
    rig.federated()
    rig.capture()
    FederatedJob.objects.update(revision=1)  # long ago

    assert lag.watch() == 2
    first = {one.subject: one.since for one in alerts_of(*KINDS)}
    assert lag.watch() == 2
    again = alerts_of(*KINDS)

    assert {one.kind for one in again} == {"replication_late"}
    assert {one.subject: one.since for one in again} == first
    ReplicationPeer.objects.filter(region="eu").update(cursor=2**50)
    assert lag.watch() == 1
    assert alerted() == [("replication_late", "ap")]
    rig.federate(enabled=False)
    assert lag.watch() == 0
    assert alerted() == []


def test_worker_whose_clock_is_ahead_is_told() -> None:
    heartbeat(Report("even", started_at=now()))
    heartbeat(Report("fast", started_at=now() + timedelta(hours=1)))

    assert [one.subject for one in alerts_of("worker_skewed")] == ["fast"]


# --- what the pages cost --------------------------------------------------------------------------


def test_the_overview_stays_within_its_bound_whatever_there_is_to_tell(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu, circuit_breaker={"failure_threshold": 1})
    eu.health = (503, {})
    probe("eu")
    RegionHealth.objects.filter(region="us").update(skew_s=99, skewed_at=Now())
    ReplicationPeer.objects.create(region="us", lag_ms=90_000, late_since=ago(60_000))
    Noise.objects.create(tenant="blue", seen_at=Now(), signals=[])
    QueueWatch.objects.create(queue="slow", since=ago(60_000), told_at=Now())
    Subscription.objects.create(
        id="sub_1", url="https://example.org/x", secret=b"x", active=False, disabled_reason="410"
    )
    tick("promote")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    look()
    client.get("/console/")

    with CaptureQueriesContext(connection) as captured:
        page = client.get("/console/").content.decode()
    # the overview has the worst findings, and those of a busy machine may be among them
    every = client.get("/console/attention/").content.decode()

    User.objects.all().delete()
    assert len(captured) <= 15
    assert "/console/regions/#region-eu" in page
    assert "The clock of region us is 99 s ahead of the clock of this region." in every
    assert "has lacked changes of this region for" in every
    assert "noisy neighbour" in every


def test_ring_of_a_region_holds_an_hour(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    probe("eu")
    probe("eu")
    eu.health = (503, {})
    probe("eu")
    (row,) = RegionMinute.objects.filter(region="eu")
    assert (row.answers, row.failures) == (2, 1)

    RegionMinute.objects.update(at=row.at - timedelta(hours=1))  # the same minute, an hour ago
    assert minutes.last_hour() == {}
    probe("eu")

    (row,) = RegionMinute.objects.filter(region="eu")
    assert (row.answers, row.failures) == (0, 1)
    hour = minutes.last_hour()["eu"]
    assert (len(hour.latencies_ms), hour.measured, hour.failures) == (60, [], 1)


def test_breaker_is_told_since_it_opened_first_however_often_it_is_tried(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu, circuit_breaker={"failure_threshold": 1})
    eu.health = (503, {})
    probe("eu")
    (first,) = alerts_of("region_open")

    pass_time("eu", 60)
    probe("eu")  # the one call that a half-open breaker admits

    (again,) = alerts_of("region_open")
    assert again.since == first.since
    eu.health = (200, {"status": "ok"})
    pass_time("eu", 60)
    probe("eu")
    assert RegionHealth.objects.get(region="eu").tripped_at is None
