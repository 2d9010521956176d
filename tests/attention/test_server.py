"""Rules about this server: loops, maintenance, the database, counts, retention."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from django.db.models import F

from attention.domain.rule import Severity
from attention.models import Drifted
from attention.services import look as module
from jobs.domain.access.caller import SYSTEM
from jobs.domain.states import State
from jobs.models import Depth, Event, Finished, LoopTick
from jobs.queries import ago, now, tick
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import maintenance
from jobs.services.record.reconcile import reconcile
from tests.attention.incidents import aggregated, found, subjects
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory, stored

pytestmark = pytest.mark.usefixtures("no_loops")

DAY_MS = 86_400_000


@pytest.fixture
def no_loops(store: None) -> Iterator[None]:
    """Remove the ticks of all loops, before and after the test."""
    LoopTick.objects.all().delete()
    yield
    LoopTick.objects.all().delete()


def test_loops_that_run_are_no_finding() -> None:
    tick("promote", "reap")

    assert found("loop_stuck") == []


def test_loops_that_were_never_seen_are_one_finding() -> None:
    (one,) = found("loop_stuck")

    assert (one.hit.subject, one.severity) == ("all", Severity.CRITICAL)
    assert "Start manage.py runworker" in one.rule.text(one.hit)


def test_a_loop_that_stands_still_is_named_with_its_last_run() -> None:
    tick("promote", "reap")
    LoopTick.objects.filter(name="reap").update(ticked_at=ago(60_000))

    (one,) = found("loop_stuck")

    assert (one.hit.subject, one.severity) == ("reap", Severity.WARNING)
    assert one.hit.since == LoopTick.objects.get(name="reap").ticked_at


def test_loops_that_all_stand_still_are_one_finding() -> None:
    tick("promote", "reap")
    LoopTick.objects.update(ticked_at=ago(60_000))

    assert subjects("loop_stuck") == ["all"]


def test_maintenance_is_found_with_its_reason_until_it_ends() -> None:
    stored(2)
    aggregated()
    maintenance.start(SYSTEM, reason="new disks", duration_ms=None)

    (one,) = found("maintenance")
    assert "new disks" in one.rule.text(one.hit)
    assert one.hit.jobs == 2
    assert one.hit.since is not None
    assert one.hit.since <= now()

    maintenance.end(SYSTEM)
    assert found("maintenance") == []


def test_a_database_is_slow_if_the_statements_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("database_slow") == []
    clock = count(step=4)

    monkeypatch.setattr(module, "monotonic", lambda: next(clock))

    (one,) = found("database_slow")
    assert one.rule.text(one.hit) == "The database takes 4 s for a look at all rules."


def test_counts_are_late_while_events_wait_for_long() -> None:
    aggregated()
    assert found("counts_late") == []

    stored(1)
    assert found("counts_late") == []
    Event.objects.update(at=F("at") - timedelta(minutes=3))

    (one,) = found("counts_late")
    assert one.hit.since == Event.objects.order_by("at")[0].at
    wait_until_complete()
    aggregated()
    assert found("counts_late") == []


def test_counts_that_differed_are_found_for_an_hour() -> None:
    stored(1)
    aggregated()
    reconcile()
    assert found("counts_drifted") == []
    Depth.objects.update(jobs=5)

    reconcile()

    (one,) = found("counts_drifted")
    assert (one.hit.subject, one.hit.jobs) == ("ojs_depth", 1)
    Drifted.objects.update(at=ago(3 * 3_600_000))
    assert found("counts_drifted") == []


def test_retention_is_behind_only_where_nothing_keeps_the_jobs() -> None:
    JobFactory.create(queue="old", state=State.COMPLETED)
    JobFactory.create(queue="kept", state=State.COMPLETED)
    configure("kept", {"retention": {"completed": "P90D"}})
    aggregated()
    assert found("retention_late") == []

    Finished.objects.update(finished_at=ago(8 * DAY_MS))

    (one,) = found("retention_late")
    assert (one.hit.subject, one.hit.jobs) == ("old", 1)
