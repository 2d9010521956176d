"""What keeps a checkpoint and what deletes it. Spec: contract 34.1."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable.extension import sweeper
from durable.models import Checkpoint, Signal
from durable.queries import save as statement
from durable.services import checkpoints, signals
from durable.services.checkpoints import Save
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.bulk import Verb
from jobs.domain.states import State
from jobs.models import Job as Row
from jobs.models import Lease
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import bulk
from jobs.services.outcome.ack import Ack, ack, ack_all
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.dead_letter import delete, retry
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import reap
from jobs.services.outcome.revive import Override
from tests.asserts import assert_store_is_sound
from tests.factories import JobFactory, error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DEAD = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


@pytest.fixture
def active(store: None) -> str:
    """Return an active job with a checkpoint and a signal."""
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1", retry={"max_attempts": 3})
    checkpoints.save(Save(job.id, '{"n": 1}'))
    signals.send(job.id, "go", "1", "test")
    return job.id


def lose(job_id: str) -> None:
    Lease.objects.filter(id=job_id).update(lease_until=ago(1000))
    reap()


def die(job_id: str) -> None:
    nack([Nack(job_id, error(retryable=False))])


KEEPING: list[Callable[[str], Any]] = [
    lambda i: nack([Nack(i, error())]), lambda i: nack([Nack(i, None, requeue=True)]), lose,
]  # fmt: skip
ENDING: list[Callable[[str], Any]] = [
    lambda i: ack([Ack(i)]), lambda i: ack_all([Ack(i)]), cancel,
    lambda i: bulk.by_id(Verb.CANCEL, [i], "test", tenant=None), die,
]  # fmt: skip


@pytest.mark.parametrize("keep", KEEPING)
@spec("contract 34.1")
def test_checkpoint_is_kept_across_attempts(active: str, keep: Callable[[str], Any]) -> None:
    keep(active)

    assert checkpoints.read(active).sequence == 1
    assert Signal.objects.count() == 1
    assert_store_is_sound()


@pytest.mark.parametrize("end", ENDING)
@spec("contract 34.1")
def test_end_of_the_job_deletes_its_checkpoint(active: str, end: Callable[[str], Any]) -> None:
    end(active)

    row = Row.objects.get(id=active)
    assert (Checkpoint.objects.count(), Signal.objects.count()) == (0, 0)
    assert (row.watched, "last_checkpoint" in row.attributes) == (False, False)
    assert_store_is_sound()


@pytest.mark.parametrize(
    ("override", "kept"),
    [
        (None, True), (Override(priority=3), True), (Override(clear_checkpoint=True), False),
        (Override(args=[1]), False),
    ],
)  # fmt: skip
@spec("contract 34.1")
def test_dead_letter_keeps_the_checkpoint_for_its_retry(
    override: Override | None, kept: bool
) -> None:
    job = JobFactory.create(state=State.ACTIVE, retry=DEAD)
    checkpoints.save(Save(job.id, "1"))
    die(job.id)
    in_dead_letter = Checkpoint.objects.count()

    retry(job.id, override)

    assert in_dead_letter == 1
    assert Checkpoint.objects.exists() is kept
    attributes = str(fetch(FetchRequest(("default",))).jobs[0].attributes)
    assert ('"checkpoint"' in attributes) is kept


@spec("contract 34.1")
def test_rows_that_a_removed_job_left_behind_are_swept() -> None:
    job = JobFactory.create(state=State.ACTIVE, retry=DEAD)
    live = JobFactory.create()
    for one in (job, live):
        checkpoints.save(Save(one.id, "1"), may_seed=True)
        signals.send(one.id, "go", "1", "test")
    die(job.id)
    kept_in_dead_letter = sweeper.run_once()
    delete(job.id)

    swept = sweeper.run_once()

    assert (kept_in_dead_letter, swept, sweeper.run_once()) == (0, 1, 0)
    assert [str(one.job_id) for one in Checkpoint.objects.all()] == [live.id]
    assert [str(one.job_id) for one in Signal.objects.all()] == [live.id]


@spec("contract 34.3")
def test_save_takes_one_statement_and_a_fetch_with_checkpoints_three_more() -> None:
    first, _ = stored_ids(2)
    with CaptureQueriesContext(connection) as saved:
        checkpoints.save(Save(first, "1"), may_seed=True)
    with CaptureQueriesContext(connection) as with_one:
        fetch(FetchRequest(("default",)))
    with CaptureQueriesContext(connection) as without:
        fetch(FetchRequest(("default",)))

    assert (len(saved), len(with_one), len(without)) == (1, 4, 1)


@spec("contract 34.1")
def test_other_followers_of_a_job_stay_when_its_checkpoint_goes() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    Row.objects.filter(id=job.id).update(watched=True)
    Lease.objects.update(watched=True)
    checkpoints.save(Save(job.id, "1"))

    checkpoints.forget([job.id])

    assert Row.objects.get(id=job.id).watched
    assert Lease.objects.get().watched


@spec("contract 34.1")
def test_plan_of_a_save_reads_one_row_of_each_table() -> None:
    stored_ids(300)
    job = JobFactory.create(queue="other", state=State.ACTIVE)
    params = {
        "id": job.id, "state": "1", "worker_id": None, "attempt": None, "taken": "{}",
        "extends": False, "seeds": True, "tenant": None, "heard_ms": 1000,
    }  # fmt: skip
    assert statement(params) is not None
    from durable import queries  # noqa: PLC0415

    text = queries._statements.text("save")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute(f"EXPLAIN {text}", params)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "ojs_job_pkey" in plan
    assert "Seq Scan on ojs_job" not in plan
