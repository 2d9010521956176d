"""Statements of workflows: their number is independent of the size, and zero for other jobs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel as cancel_job
from tests.factories import stored_ids
from tests.jobs.sql.test_budgets import CONTROL
from tests.workflows.flows import batch, chain, claimed, created, graph, group, job, seen
from workflows.services.cancel import cancel
from workflows.services.show import show


def cost(call: Callable[[], object]) -> int:
    """Return how many statements a call takes, without transaction commands."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return sum(not query["sql"].startswith(CONTROL) for query in captured.captured_queries)


@pytest.fixture(autouse=True)
def lane(store: None) -> None:
    """Let the process cache the lane of the default queue."""
    stored_ids(1)
    ack([Ack(one.id) for one in claimed()])


SIZES = [2, 100, 1000]


@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("make", [group, chain, lambda *jobs: batch(*jobs, on_success=job()),
                                  lambda *jobs: chain(group(*jobs), job())])  # fmt: skip
def test_creating_takes_three_statements(make: Callable[..., dict[str, Any]], number: int) -> None:
    body = make(*[job() for _ in range(number)])

    # store its jobs, store the workflow, wake the lane after the commit
    assert cost(lambda: created(body)) == 3


@pytest.mark.parametrize("number", SIZES)
def test_showing_takes_two_statements(number: int) -> None:
    flow = created(chain(group(*[job() for _ in range(number)]), job()))

    assert cost(lambda: show(flow)) == 2


@pytest.mark.parametrize("number", [1, 100])
def test_the_end_of_members_takes_five_statements(number: int) -> None:
    created(group(*[job() for _ in range(300)]))
    jobs = claimed(count=number)

    # find watched jobs, end them, update steps and workflows, look for waiting schedules
    assert cost(lambda: ack([Ack(one.id) for one in jobs])) == 5


@pytest.mark.parametrize("number", SIZES)
def test_the_end_of_all_members_and_the_begin_of_the_next_take_ten(number: int) -> None:
    created(batch(*[job() for _ in range(number)], on_complete=job()))
    jobs = [one for _ in range(number // 100 + 1) for one in claimed(count=100)]

    # besides these five: fire, read the job's request, store it, record it, wake its lane
    assert cost(lambda: ack([Ack(one.id) for one in jobs])) == 10


@pytest.mark.parametrize("number", SIZES)
def test_a_fan_out_takes_the_same_number_whatever_its_width(number: int) -> None:
    created(graph(a="", **{f"b{n}": "a" for n in range(number)}))
    (first,) = claimed()

    # the ended step has dependents: one more statement releases them
    assert cost(lambda: ack([Ack(first.id)])) == 10


@pytest.mark.parametrize("number", SIZES)
def test_a_cancel_takes_the_same_number_whatever_its_size(number: int) -> None:
    flow = created(group(*[job() for _ in range(number)]))

    # look, read its jobs, cancel them, look for more, lock, end the workflow
    assert cost(lambda: cancel(flow)) == 6


def test_other_jobs_take_not_one_more() -> None:
    created(group(job()))
    claimed()
    ids = stored_ids(3)
    claimed(count=2)

    assert cost(lambda: ack([Ack(ids[0])])) == 1
    assert cost(lambda: cancel_job(ids[1])) == 2
    assert cost(lambda: cancel_job(ids[2])) == 2


def test_a_group_of_ten_thousand_is_stored_and_shown() -> None:
    flow = created(group(*[job() for _ in range(10_000)]))

    shown = seen(flow)

    assert (shown["jobs_total"], len(shown["steps"])) == (10_000, 10_000)
    assert cost(lambda: show(flow)) == 2
