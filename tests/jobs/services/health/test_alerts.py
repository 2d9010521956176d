"""Alerts that need an operator's attention now."""

from collections.abc import Iterator

import pytest

from jobs.domain.access.caller import SYSTEM
from jobs.models import LoopTick, Worker
from jobs.queries import ago, now, tick
from jobs.services.health.alerts import alerts
from jobs.services.operate import maintenance
from jobs.services.workers.heartbeat import Report, heartbeat

pytestmark = pytest.mark.usefixtures("no_loops")


@pytest.fixture
def no_loops(store: None) -> Iterator[None]:
    """Remove the ticks of all loops, before and after the test."""
    LoopTick.objects.all().delete()
    yield
    LoopTick.objects.all().delete()


def kinds() -> list[tuple[str, str]]:
    """Return kind and subject of all alerts."""
    return [(alert.kind, alert.subject) for alert in alerts()]


def test_all_is_well_while_the_loops_get_on() -> None:
    tick("promote")

    assert kinds() == []


def test_loops_that_were_never_seen_are_one_alert() -> None:
    assert kinds() == [("loops_away", "")]


def test_one_loop_that_stands_still_is_named_with_its_last_run() -> None:
    for name in ("promote", "reap"):
        tick(name)
    LoopTick.objects.filter(name="reap").update(ticked_at=ago(60_000))

    (alert,) = alerts()

    assert (alert.kind, alert.subject) == ("loop_stuck", "reap")
    assert alert.since == LoopTick.objects.get(name="reap").ticked_at


def test_all_loops_that_stand_still_are_one_alert() -> None:
    for name in ("promote", "reap"):
        tick(name)
    LoopTick.objects.update(ticked_at=ago(60_000))

    assert kinds() == [("loops_away", "")]


def test_maintenance_is_told_with_its_reason_until_it_ends() -> None:
    tick("promote")
    maintenance.start(SYSTEM, reason="new disks", duration_ms=None)
    (alert,) = alerts()

    assert alert.kind == "maintenance"
    assert "new disks" in alert.text
    assert alert.since is not None
    assert alert.since <= now()

    maintenance.end(SYSTEM)
    assert kinds() == []


def test_workers_are_told_of_when_most_are_silent() -> None:
    tick("promote")
    for name in "abc":
        heartbeat(Report(name))
    Worker.objects.filter(id="a").update(last_heartbeat_at=ago(60_000))
    assert kinds() == []

    Worker.objects.filter(id="b").update(last_heartbeat_at=ago(60_000))
    assert kinds() == [("workers_silent", "")]
