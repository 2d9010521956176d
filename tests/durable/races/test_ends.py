"""No wake of a parent is lost, whatever comes first. Spec: contract 34.2."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection, transaction

from durable import queries
from durable.services import checkpoints
from durable.services.checkpoints import Save
from durable.services.suspend import suspend
from jobs.domain.errors import Conflict
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel as cancel_job
from jobs.services.read.show import show
from ojs_tasks.children import CANCEL, ENDED, FLOW_ENDED, PARENT, WITH_PARENT
from ojs_tasks.worker.ports import Suspend
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import at_once, threads, wait_until_blocked
from tests.factories import JobFactory
from tests.spec import spec
from tests.workflows.flows import claimed, complete, created, group, job, seen
from workflows.services.cancel import cancel

pytestmark = pytest.mark.usefixtures("store")
ROUNDS = 12


def parent() -> str:
    """Return an active job with a checkpoint."""
    job_id = JobFactory.create(state=State.ACTIVE, queue="parents").id
    checkpoints.save(Save(job_id, "{}"))
    return job_id


def started(of: str, members: int = 1) -> tuple[str, list[Job]]:
    """Return a workflow that a step of this job started, and its claimed jobs."""
    flow = created(group(*[job() for _ in range(members)], meta={PARENT: of, CANCEL: WITH_PARENT}))
    return flow, claimed()


def wait(job_id: str, *ends: str) -> bool:
    return suspend(Suspend(job_id, "child", datetime.now(UTC) + timedelta(hours=1), ends))


@spec("contract 34.2")
def test_end_that_commits_while_the_parent_is_suspended_wakes_it() -> None:
    job_id = parent()
    flow, members = started(job_id)

    with threads(1) as start:
        with transaction.atomic():
            queries.lock(job_id)  # as the suspension does first
            ending = start(lambda: complete(*members))
            wait_until_blocked()
            assert wait(job_id, f"{FLOW_ENDED}{flow}")
            assert seen(flow)["state"] == "running"  # the suspension cannot have seen the end
        ending.result()

    assert_state(State.AVAILABLE, job_id)
    assert seen(flow)["state"] == "completed"


@spec("contract 34.2")
def test_suspension_that_waits_for_the_end_sees_it() -> None:
    job_id = parent()
    flow, members = started(job_id)

    with threads(1) as start:
        with transaction.atomic():
            complete(*members)  # it has locked the parent, and has not committed
            waiting = start(lambda: wait(job_id, f"{FLOW_ENDED}{flow}"))
            wait_until_blocked()
        assert waiting.result()

    assert_state(State.AVAILABLE, job_id)


def end_by_ack(flow: str, members: list[Job]) -> Callable[[], object]:
    return lambda: complete(*members)


def end_by_cancel(flow: str, members: list[Job]) -> Callable[[], object]:
    def run() -> None:
        cancel(flow)

    return run


@pytest.mark.parametrize("end", [end_by_ack, end_by_cancel])
@spec("contract 34.2")
def test_ends_and_suspensions_at_once_lose_no_wake(
    end: Callable[[str, list[Job]], Callable[[], object]],
) -> None:
    parents = [parent() for _ in range(ROUNDS)]
    flows = {one: started(one) for one in parents}

    works: list[Callable[[], object]] = []
    for one, (flow, members) in flows.items():
        works += [end(flow, members), partial(wait, one, f"{FLOW_ENDED}{flow}")]
    at_once(works)

    assert_state(State.AVAILABLE, *parents)
    assert_store_is_sound()


@spec("contract 34.2")
def test_ends_of_jobs_and_suspensions_at_once_lose_no_wake() -> None:
    parents = [parent() for _ in range(ROUNDS)]
    below = {one: JobFactory.create(state=State.ACTIVE, meta={PARENT: one}).id for one in parents}

    works: list[Callable[[], object]] = []
    for one, child in below.items():
        works += [
            partial(ack, [Ack(child)]),
            partial(wait, one, f"{ENDED}{child}"),
        ]
    at_once(works)

    assert_state(State.AVAILABLE, *parents)
    assert_store_is_sound()


@spec("contract 34.2")
def test_cancels_of_parents_and_ends_of_their_workflows_at_once_end_both() -> None:
    parents = [parent() for _ in range(ROUNDS)]
    flows = {one: started(one, members=3) for one in parents}
    for one, (flow, _) in flows.items():
        record = {"state": "running", "workflow": flow, CANCEL: WITH_PARENT}
        checkpoints.save(Save(one, dumps({"__steps": {"flow": record}}).decode()))

    def cancelled(job_id: str) -> None:
        try:
            cancel_job(job_id)
        except Conflict as problem:
            raise AssertionError(f"{job_id} was not cancelled") from problem

    works: list[Callable[[], object]] = []
    for one, (flow, members) in flows.items():
        works += [
            partial(complete, *members),
            partial(cancelled, one),
            partial(wait, one, f"{FLOW_ENDED}{flow}"),
        ]
    at_once(works)

    assert_state(State.CANCELLED, *parents)
    assert {seen(flow)["state"] for flow, _ in flows.values()} <= {"completed", "cancelled"}
    assert_store_is_sound()
    assert connection.is_usable()
    assert all(show(one).finished_at for one in parents)
