"""Drift between counts and jobs is found and corrected completely. Spec: contract 10.3."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from prometheus_client import REGISTRY

from jobs import queries
from jobs.domain.record.events import RUN_BOUNDS, WAIT_BOUNDS
from jobs.domain.states import CODES, TERMINAL, State
from jobs.loops import run_once
from jobs.models import Depth, Event, FoldPosition, QueueSize, TenantDepth
from jobs.queries import Drift
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.reconcile import reconcile, reconcile_once
from tests.asserts import assert_counts_have_not_drifted, assert_store_is_sound
from tests.concurrency import wait_until_complete
from tests.factories import DraftFactory, JobFactory, stored

pytestmark = pytest.mark.usefixtures("store")

LIVE = [state for state in State if state not in TERMINAL]
TABLES = ("ojs_depth", "ojs_tenant_depth", "ojs_queue_size")


def aggregate_all() -> None:
    """Aggregate all events."""
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass


def jobs_of_all_states() -> None:
    """Store a job in every state, and jobs of two tenants in a shared queue."""
    for state in State:
        JobFactory.create(state=state, queue=state.value)
    drafts = [DraftFactory.create(queue="shared") for _ in range(6)]
    enqueue([replace(draft, tenant=f"t{n % 2}") for n, draft in enumerate(drafts)])


def counted(table: str) -> float:
    """Return the number of wrong counts of a table that were found so far."""
    return REGISTRY.get_sample_value("ojs_count_drifts_total", {"table": table}) or 0


def no_aggregation() -> None:
    """Leave all events unaggregated, as before the first run."""


def half_an_aggregation() -> None:
    """Aggregate some of the events."""
    wait_until_complete()
    queries.aggregate_events(1, WAIT_BOUNDS, RUN_BOUNDS)
    queries.aggregate_events(7, WAIT_BOUNDS, RUN_BOUNDS)
    assert Event.objects.filter(stamp__gte=FoldPosition.objects.get().stamp).exists()
    assert Depth.objects.exists()


@pytest.mark.parametrize("aggregated", [no_aggregation, half_an_aggregation, aggregate_all])
def test_events_that_are_not_aggregated_yet_are_no_drift(aggregated: Callable[[], None]) -> None:
    jobs_of_all_states()
    aggregated()

    assert reconcile() == []

    aggregate_all()
    assert reconcile() == []
    assert_store_is_sound()


@pytest.mark.parametrize("aggregated", [no_aggregation, half_an_aggregation, aggregate_all])
@pytest.mark.parametrize("excess", [-3, 4])
@pytest.mark.parametrize("state", LIVE)
def test_a_number_of_a_queue_is_set_right(
    aggregated: Callable[[], None], state: State, excess: int
) -> None:
    jobs_of_all_states()
    aggregated()
    add("ojs_depth", excess, queue=state.value, state=CODES[state])

    assert reconcile() == [Drift("ojs_depth", state.value, excess, None, CODES[state])]

    assert_store_is_sound()
    aggregate_all()
    assert_store_is_sound()


@pytest.mark.parametrize("aggregated", [no_aggregation, half_an_aggregation, aggregate_all])
def test_a_number_of_a_tenant_is_set_right(aggregated: Callable[[], None]) -> None:
    jobs_of_all_states()
    aggregated()
    add("ojs_tenant_depth", 2, tenant="t1", queue="shared", state=3)
    add("ojs_tenant_depth", -2, tenant="t2", queue="shared", state=3)

    assert reconcile() == [
        Drift("ojs_tenant_depth", "shared", 2, "t1", 3),
        Drift("ojs_tenant_depth", "shared", -2, "t2", 3),
    ]

    aggregate_all()
    assert_store_is_sound()
    assert queries.tenant_depths("t1")["shared"][3] == 3


@pytest.mark.parametrize("aggregated", [no_aggregation, half_an_aggregation, aggregate_all])
def test_the_size_of_a_queue_is_set_right(aggregated: Callable[[], None]) -> None:
    jobs_of_all_states()
    aggregated()
    add("ojs_queue_size", -17, queue="shared")
    add("ojs_queue_size", 5, queue="gone")

    assert reconcile() == [
        Drift("ojs_queue_size", "gone", 5),
        Drift("ojs_queue_size", "shared", -17),
    ]

    aggregate_all()
    assert_store_is_sound()


def test_counts_that_were_lost_as_a_whole_are_there_again() -> None:
    jobs_of_all_states()
    aggregate_all()
    for model in (TenantDepth, QueueSize, Depth):
        model.objects.all().delete()

    tables = [drift.table for drift in reconcile()]

    assert tables.count("ojs_depth") == len(LIVE) + 1
    assert tables.count("ojs_tenant_depth") == len(LIVE) + 2
    # active jobs have no size; the shared queue has
    assert tables.count("ojs_queue_size") == len(LIVE)
    assert_counts_have_not_drifted()
    assert sum(queries.depths()["shared"].values()) == 6


def test_numbers_of_ended_jobs_are_left_as_they_are() -> None:
    jobs_of_all_states()
    aggregate_all()
    for state in TERMINAL:
        add("ojs_depth", 1, queue=state.value, state=CODES[state])

    assert reconcile() == []

    for state in TERMINAL:
        assert queries.depths()[state.value][CODES[state]] == 2


@pytest.mark.parametrize(("most", "is_found"), [(6, False), (7, True), (None, True)])
def test_sizes_are_left_out_where_too_many_jobs_wait(most: int | None, is_found: bool) -> None:
    stored(6)
    add("ojs_queue_size", 1, queue="default")
    add("ojs_depth", 1, queue="default", state=3)

    tables = [drift.table for drift in reconcile(most)]

    assert tables == ["ojs_depth", "ojs_queue_size"][: 1 + is_found]


def test_what_was_wrong_is_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    jobs_of_all_states()
    aggregate_all()
    before = [counted(table) for table in TABLES]
    assert reconcile_once() == 0
    assert [counted(table) for table in TABLES] == before
    assert not caplog.records
    for n in range(20):
        add("ojs_depth", 1, queue=f"q{n}", state=3)
    add("ojs_queue_size", 1, queue="q0")

    assert run_once(["reconcile"]) == 21

    assert [counted(table) - old for table, old in zip(TABLES, before, strict=True)] == [20, 0, 1]
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("ERROR", "counts.drifted")
    assert record.count == 21  # type: ignore[attr-defined]
    assert len(record.drifts) == 10  # type: ignore[attr-defined]


def add(table: str, number: int, **key: str | int) -> None:
    """Make a count wrong by this number."""
    column = "bytes" if table == "ojs_queue_size" else "jobs"
    names, marks = ", ".join(key), ", ".join(["%s"] * len(key))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS c ({names}, {column}) VALUES ({marks}, %s)"  # noqa: S608 - names of here
            f" ON CONFLICT ({names}) DO UPDATE SET {column} = c.{column} + excluded.{column}",
            [*key.values(), number],
        )
