"""What the meta of a job may do to another one. Spec: contract 34.2."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable.models import Wait
from durable.services import checkpoints
from durable.services.checkpoints import Save
from durable.services.suspend import suspend
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from ojs_tasks.children import CANCEL, ENDED, PARENT, WITH_PARENT
from ojs_tasks.worker.ports import Suspend
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def parent(*children: str, **envelope: Any) -> str:
    """Return an active job whose steps name these jobs."""
    job_id = JobFactory.create(state=State.ACTIVE, **envelope).id
    steps = {one: {"state": "running", "job": one, CANCEL: WITH_PARENT} for one in children}
    checkpoints.save(Save(job_id, dumps({"__steps": steps}).decode()))
    return job_id


def wait(job_id: str, *children: str) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    suspend(Suspend(job_id, "child", until, tuple(f"{ENDED}{one}" for one in children)))


def child(of: str, state: State = State.ACTIVE, **meta: str) -> str:
    return JobFactory.create(state=state, meta={PARENT: of, **meta}).id


@spec("contract 34.2")
def test_end_of_a_child_wakes_the_parent_that_waits_for_it() -> None:
    job_id = parent()
    first, second = child(job_id), child(job_id)
    wait(job_id, first)

    ack([Ack(second)])
    assert_state(State.SCHEDULED, job_id)
    ack([Ack(first)])

    assert_state(State.AVAILABLE, job_id)
    assert Wait.objects.get().is_woken
    assert_store_is_sound()


@spec("contract 34.2")
def test_wait_for_a_job_that_has_ended_is_over_at_once() -> None:
    job_id = parent()
    first = child(job_id)
    ack([Ack(first)])

    wait(job_id, first)

    assert_state(State.AVAILABLE, job_id)
    assert Wait.objects.get().is_woken


@pytest.mark.parametrize("name", ["nonsense", "01965000-0000-7000-8000-000000000000"])
@spec("contract 34.2")
def test_parent_that_is_not_there_changes_nothing(name: str) -> None:
    job_id = child(name)

    ack([Ack(job_id)])

    assert_state(State.COMPLETED, job_id)


@spec("contract 34.2")
def test_cancel_takes_only_children_that_both_jobs_name() -> None:
    stranger = JobFactory.create(queue="elsewhere").id
    job_id = parent(stranger)
    unnamed = child(job_id, State.AVAILABLE, **{CANCEL: WITH_PARENT})

    cancel(job_id)

    assert_state(State.AVAILABLE, stranger, unnamed)
    assert_store_is_sound()


@spec("contract 34.2")
def test_end_of_a_job_without_parent_takes_no_statement_more() -> None:
    job_id = parent()
    with CaptureQueriesContext(connection) as found:
        ack([Ack(job_id)])

    about = [
        one["sql"] for one in found if "ojs_checkpoint" in one["sql"] or "ojs_wait" in one["sql"]
    ]
    assert len(about) == 1
