"""Starts of queues with an objective, counted from events."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.objective import WINDOWS
from jobs.models import ObjectivePeriod, ObjectiveTotal, Ready
from jobs.queries import now
from jobs.services.dispatch.fetch import fetch
from jobs.services.health import exposition
from jobs.services.lanes.queue_config import configure, configure_template
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.objectives import Judged, judged
from tests.concurrency import wait_until_complete
from tests.factories import stored
from tests.jobs.services.record.test_aggregate import aggregate_all

pytestmark = pytest.mark.usefixtures("store")

HALF_MINUTE = {"objective": {"start_within_ms": 30_000, "percent": 99}}


@pytest.fixture(autouse=True)
def _fresh_exposition() -> Iterator[None]:
    exposition._cached.clear()
    yield
    exposition._cached.clear()


def started(number: int, waited_s: int, queue: str = "mail") -> None:
    """Start jobs of a queue that have waited for so long."""
    stored(number, queue=queue)
    Ready.objects.update(enqueued_at=F("enqueued_at") - timedelta(seconds=waited_s))
    assert len(fetch(FetchRequest((queue,), number, "w")).jobs) == number


def counted(queue: str = "mail") -> dict[int, tuple[int, int]]:
    """Return the started and late jobs of a queue by span."""
    return {
        row.span_s: (row.started, row.late)
        for row in ObjectivePeriod.objects.filter(queue=queue).order_by("at")
    }


def minute(minutes_ago: int, started: int, late: int, within_ms: int = 30_000) -> None:
    """Store the starts of a past minute."""
    at = now().replace(second=0, microsecond=0) - timedelta(minutes=minutes_ago)
    _store(60, at, started, late, within_ms)


def hour(hours_ago: int, started: int, late: int) -> None:
    """Store the starts of a past hour."""
    at = now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    _store(3_600, at, started, late, 30_000)


def _store(span_s: int, at: datetime, started: int, late: int, within_ms: int) -> None:
    ObjectivePeriod.objects.create(
        span_s=span_s, at=at, queue="mail", within_ms=within_ms, started=started, late=late
    )


def shown(queue: str = "mail") -> Judged:
    """Return how a queue with HALF_MINUTE meets its objective."""
    found = judged(queue, HALF_MINUTE)
    assert found is not None
    return found


def test_late_starts_of_a_queue_with_an_objective_are_counted_and_no_others() -> None:
    configure("mail", HALF_MINUTE)
    aggregate_all()
    started(3, waited_s=1)
    started(2, waited_s=31)
    started(4, waited_s=31, queue="other")
    aggregate_all()

    assert set(counted().values()) == {(5, 2)}
    assert counted().keys() == {60, 3_600}
    assert not ObjectivePeriod.objects.exclude(queue="mail").exists()
    assert ObjectiveTotal.objects.values_list("queue", "started", "late").get() == ("mail", 5, 2)


def test_a_start_exactly_at_the_time_is_not_late() -> None:
    configure("mail", HALF_MINUTE)
    aggregate_all()
    started(1, waited_s=0)
    wait_until_complete()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ojs_event SET took_ms = 30000 WHERE kind = 3")
    aggregate_all()

    assert set(counted().values()) == {(1, 0)}


def test_the_aggregation_stays_one_statement_with_objectives() -> None:
    configure("mail", HALF_MINUTE)
    aggregate_all()
    started(3, waited_s=31)
    wait_until_complete()

    with CaptureQueriesContext(connection) as ran:
        assert aggregate_events() > 0

    assert len(ran) == 1


def test_a_changed_time_begins_with_no_history_and_the_total_goes_on() -> None:
    configure("mail", HALF_MINUTE)
    aggregate_all()
    started(2, waited_s=31)
    aggregate_all()

    configure("mail", {"objective": {"start_within_ms": 60_000}})
    started(3, waited_s=31)
    aggregate_all()

    found = judged("mail", {"objective": {"start_within_ms": 60_000, "percent": 99}})
    assert found is not None
    assert {(one.started, one.late) for one in found.windows} == {(3, 0)}
    assert ObjectiveTotal.objects.values_list("started", "late").get() == (5, 2)


def test_windows_add_up_minutes_and_hours_to_their_lengths() -> None:
    minute(0, 10, 1)
    minute(59, 10, 1)
    minute(60, 100, 50)  # outside of an hour
    minute(359, 10, 0)
    minute(360, 100, 50)  # outside of six hours
    minute(1, 1_000, 1_000, within_ms=5_000)  # of another objective
    hour(0, 200, 2)
    hour(71, 200, 2)
    hour(72, 400, 0)  # outside of three days
    hour(719, 200, 0)
    hour(720, 9_000, 9_000)

    found = shown().windows

    assert [(one.window_s, one.started, one.late) for one in found] == [
        (3_600, 20, 2), (21_600, 130, 52), (259_200, 400, 4), (2_592_000, 1_000, 4),
    ]  # fmt: skip
    assert tuple(one.window_s for one in found) == WINDOWS
    assert shown().budget_left == pytest.approx(0.6)


def test_a_queue_without_starts_has_no_attainment_and_without_an_objective_nothing() -> None:
    assert {one.attainment for one in shown().windows} == {None}
    assert shown().budget_left is None
    assert judged("mail", {}) is None


def test_old_minutes_leave_and_hours_stay() -> None:
    minute(3 * 24 * 60, 5, 5)
    hour(24, 5, 5)
    two_days = 2 * 24 * 3_600_000

    removed = [queries.prune_periods(span_s, two_days, 100) for span_s in (60, 3_600)]

    assert removed == [1, 0]
    assert counted() == {3_600: (5, 5)}


def test_the_template_gives_new_queues_its_objective() -> None:
    configure_template(HALF_MINUTE)
    aggregate_all()
    started(1, waited_s=31)
    aggregate_all()

    assert set(counted().values()) == {(1, 1)}


def exposed() -> dict[tuple[str, str], float]:
    """Return the metrics of objectives by name and queue."""
    exposition._cached.clear()
    text = exposition.exposition().decode()
    return {
        (sample.name.removeprefix("ojs_queue_objective_"), sample.labels["queue"]): sample.value
        for family in text_string_to_metric_families(text)
        if family.name.startswith("ojs_queue_objective")
        for sample in family.samples
    }


def test_metrics_have_the_objective_and_its_starts() -> None:
    configure("mail", HALF_MINUTE)
    configure("calm", {"objective": {"start_within_ms": 5_000, "percent": 99.9}})
    configure("plain", {"concurrency": 5})
    aggregate_all()
    started(3, waited_s=31)
    aggregate_all()

    assert exposed() == {
        ("ratio", "mail"): 0.99, ("seconds", "mail"): 30.0,
        ("started_total", "mail"): 3.0, ("late_total", "mail"): 3.0,
        ("ratio", "calm"): 0.999, ("seconds", "calm"): 5.0,
        ("started_total", "calm"): 0.0, ("late_total", "calm"): 0.0,
    }  # fmt: skip


def test_metrics_name_a_bounded_number_of_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "MOST_LABELS", 2)
    for n in range(4):
        configure(f"q{n}", HALF_MINUTE)
        ObjectiveTotal.objects.create(queue=f"q{n}", started=10, late=1)

    found = exposed()

    assert {queue for name, queue in found if name == "ratio"} == {"q0", "q1"}
    assert found["started_total", "_other"] == 20.0
    assert found["late_total", "q0"] == 1.0
