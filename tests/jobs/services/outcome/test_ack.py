"""The end of all jobs of a batch."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Job as Row
from jobs.models import Lease
from jobs.services.outcome.ack import Ack, ack_all
from tests.asserts import assert_state
from tests.factories import JobFactory

pytestmark = pytest.mark.usefixtures("store")


def active(number: int, worker_id: str = "w1") -> list[str]:
    """Return the ids of jobs that a worker runs."""
    return [
        JobFactory.create(queue=f"q{n}", state=State.ACTIVE, worker_id=worker_id).id
        for n in range(number)
    ]


def test_all_jobs_of_a_batch_end_with_one_statement() -> None:
    ids = active(3)

    with CaptureQueriesContext(connection) as captured:
        refused = ack_all([Ack(job_id, b"1", "w1", 1) for job_id in ids])

    assert refused == []
    assert len(captured) == 1
    assert_state(State.COMPLETED, *ids)


def test_an_ack_is_refused_without_an_effect_on_the_others() -> None:
    first, lost, last = active(3)
    unknown = new_id()

    refused = ack_all(
        [Ack(first, None, "w1", 1), Ack(lost, None, "w2", 1), Ack(unknown), Ack(last)]
    )

    assert {type(each) for each in refused} == {Conflict, NotFound}
    assert len(refused) == 2
    assert_state(State.COMPLETED, first, last)
    assert_state(State.ACTIVE, lost)


def test_of_two_acks_of_one_job_the_one_of_its_attempt_counts() -> None:
    (job_id,) = active(1)

    refused = ack_all([Ack(job_id, None, "w1", 0), Ack(job_id, None, "w1", 1)])

    assert refused == []
    assert_state(State.COMPLETED, job_id)


def test_watched_jobs_end_in_a_transaction_of_their_own() -> None:
    plain, watched = active(2)
    for model in (Row, Lease):
        model.objects.filter(id=watched).update(watched=True)

    with CaptureQueriesContext(connection) as captured:
        refused = ack_all([Ack(plain, None, "w1", 1), Ack(watched, None, "w1", 1)])

    assert refused == []
    assert "BEGIN" in [query["sql"] for query in captured]
    assert_state(State.COMPLETED, plain, watched)
