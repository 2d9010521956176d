"""Aggregation of events into counts, in batches that always advance. Spec: contract 10.3, 32.3."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs import queries
from jobs.domain.record.events import RUN_BOUNDS, WAIT_BOUNDS
from jobs.domain.record.periods import DAY, HOUR, MINUTE, SPANS
from jobs.domain.states import State
from jobs.models import Depth, Event, FoldPosition, Latency, Period, TenantPeriod, Total
from jobs.queries import ago, now
from jobs.services.outcome.dead_letter import retry
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_depths_equal_recount
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory, stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def aggregate_all(batch: int = 1000) -> int:
    """Aggregate all events and return their number."""
    wait_until_complete()
    aggregate_events(1)  # the first run ever only stores the start position
    total = 0
    while aggregated := aggregate_events(batch):
        total += aggregated
    return total


def aggregate_to_position() -> None:
    """Store the start position of the aggregation if there is none; aggregate nothing."""
    if not FoldPosition.objects.exists():
        queries.aggregate_events(1, WAIT_BOUNDS, RUN_BOUNDS)


def aggregated_depth() -> dict[str, int]:
    return dict(Depth.objects.exclude(jobs=0).values_list("queue", "jobs"))


def enqueued() -> dict[int, int]:
    """Return the number of enqueued jobs that each span counted."""
    return {
        span_s: sum(Period.objects.filter(span_s=span_s).values_list("enqueued", flat=True))
        for span_s in SPANS
    }


def test_aggregation_adds_every_event_once() -> None:
    stored(5)
    aggregate_all()
    stored(3)
    aggregate_all()

    assert aggregate_all() == 0
    assert aggregated_depth() == {"default": 8}
    assert Total.objects.get().enqueued == 8
    assert enqueued() == dict.fromkeys(SPANS, 8)


@pytest.mark.parametrize("batch", [1, 9, 10, 11])
def test_aggregation_of_one_transaction_larger_than_the_batch_gets_on(batch: int) -> None:
    stored(10)
    stored(1)

    aggregate_all(batch)

    assert aggregated_depth() == {"default": 11}


def test_aggregation_takes_no_more_transactions_than_the_batch_needs() -> None:
    aggregate_all()
    for _ in range(6):
        stored(2)
    wait_until_complete()

    assert aggregate_events(4) == 4
    assert aggregate_events(3) == 4  # a batch never splits a transaction
    assert aggregate_events(100) == 4


def test_depths_are_exact_at_any_position_of_the_aggregation() -> None:
    for n, state in enumerate(State):
        JobFactory.create(state=state, queue=f"q{n}")
    assert_depths_equal_recount()
    queries.aggregate_events(1, WAIT_BOUNDS, RUN_BOUNDS)
    wait_until_complete()

    while aggregate_events(1):
        assert_depths_equal_recount()

    assert_depths_equal_recount()


@spec("contract 32.3")
def test_totals_count_what_happened_to_jobs() -> None:
    for state in (State.COMPLETED, State.RETRYABLE, State.DISCARDED, State.CANCELLED):
        JobFactory.create(state=state, queue=state.value)
    aggregate_all()

    counted = {row.queue: row for row in Total.objects.all()}
    assert {row.enqueued for row in counted.values()} == {1}
    assert counted["completed"].completed == counted["completed"].started == 1
    assert (counted["retryable"].failed, counted["retryable"].retried) == (1, 1)
    assert (counted["discarded"].failed, counted["discarded"].discarded) == (1, 1)
    assert counted["cancelled"].cancelled == 1


@spec("contract 32.6")
def test_minutes_hours_and_days_count_the_same_and_begin_in_utc() -> None:
    for state in (State.COMPLETED, State.RETRYABLE, State.CANCELLED):
        JobFactory.create(state=state, queue=state.value)
    aggregate_all()

    for model in (Period, TenantPeriod, Latency):
        told = {
            span_s: sorted(
                tuple(value for name, value in row.items() if name not in {"span_s", "at", "pk"})
                for row in model.objects.filter(span_s=span_s).values()
            )
            for span_s in SPANS
        }
        assert told[MINUTE]
        assert told[MINUTE] == told[HOUR] == told[DAY]
        for row in model.objects.all():
            assert row.at.timestamp() % row.span_s == 0


@spec("contract 32.6")
def test_what_comes_late_is_added_to_the_hour_and_day_that_it_belongs_to() -> None:
    at = now() - timedelta(days=30)
    for _ in range(2):
        stored(3)
        aggregate_to_position()
        Event.objects.filter(kind=1, at__gt=ago(86_400_000)).update(at=at)
        aggregate_all()

    assert enqueued() == dict.fromkeys(SPANS, 6)
    rows = {row.span_s: row.at for row in Period.objects.filter(at__lte=at)}
    assert rows == {
        span_s: datetime.fromtimestamp(int(at.timestamp()) // span_s * span_s, UTC)
        for span_s in SPANS
    }


@spec("contract 2.4")
def test_a_manual_retry_moves_the_count_back() -> None:
    job = JobFactory.create(state=State.DISCARDED)
    retry(job.id)
    aggregate_all()

    assert_depths_equal_recount()
    assert Event.objects.filter(job_id=job.id).count() > 0
