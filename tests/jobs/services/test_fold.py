"""Counts from events, in batches that always get on. Spec: contract 10.3, 32.3."""

import pytest

from jobs import queries
from jobs.domain.events import RUN_BOUNDS, WAIT_BOUNDS
from jobs.domain.states import State
from jobs.models import Depth, Event, Minute, Total
from jobs.services.dead_letter import retry
from jobs.services.fold import fold
from tests.asserts import assert_depths_equal_recount
from tests.concurrency import wait_until_settled
from tests.factories import JobFactory, stored

pytestmark = pytest.mark.usefixtures("store")


def fold_all(batch: int = 1000) -> int:
    """Fold until nothing is left; returns how many events were folded."""
    wait_until_settled()
    queries.fold(1, WAIT_BOUNDS, RUN_BOUNDS)  # the first ever only places the start
    total = 0
    while folded := fold(batch):
        total += folded
    return total


def folded_depth() -> dict[str, int]:
    return dict(Depth.objects.exclude(jobs=0).values_list("queue", "jobs"))


def test_fold_adds_every_event_once() -> None:
    stored(5)
    fold_all()
    stored(3)
    fold_all()

    assert fold_all() == 0
    assert folded_depth() == {"default": 8}
    assert Total.objects.get().enqueued == 8
    assert sum(Minute.objects.values_list("enqueued", flat=True)) == 8


@pytest.mark.parametrize("batch", [1, 9, 10, 11])
def test_fold_of_one_transaction_larger_than_the_batch_gets_on(batch: int) -> None:
    stored(10)
    stored(1)

    fold_all(batch)

    assert folded_depth() == {"default": 11}


def test_fold_takes_no_more_transactions_than_the_batch_needs() -> None:
    fold_all()
    for _ in range(6):
        stored(2)
    wait_until_settled()

    assert fold(4) == 4
    assert fold(3) == 4  # a transaction is never split
    assert fold(100) == 4


def test_depths_are_exact_at_any_position_of_the_fold() -> None:
    for n, state in enumerate(State):
        JobFactory.create(state=state, queue=f"q{n}")
    assert_depths_equal_recount()
    queries.fold(1, WAIT_BOUNDS, RUN_BOUNDS)
    wait_until_settled()

    while fold(1):
        assert_depths_equal_recount()

    assert_depths_equal_recount()


def test_32_3_totals_count_what_happened_to_jobs() -> None:
    for state in (State.COMPLETED, State.RETRYABLE, State.DISCARDED, State.CANCELLED):
        JobFactory.create(state=state, queue=state.value)
    fold_all()

    counted = {row.queue: row for row in Total.objects.all()}
    assert {row.enqueued for row in counted.values()} == {1}
    assert counted["completed"].completed == counted["completed"].started == 1
    assert (counted["retryable"].failed, counted["retryable"].retried) == (1, 1)
    assert (counted["discarded"].failed, counted["discarded"].discarded) == (1, 1)
    assert counted["cancelled"].cancelled == 1


def test_02_4_a_manual_retry_moves_the_count_back() -> None:
    job = JobFactory.create(state=State.DISCARDED)
    retry(job.id)
    fold_all()

    assert_depths_equal_recount()
    assert Event.objects.filter(job_id=job.id).count() > 0
