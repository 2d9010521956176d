"""Cancelling a workflow. Spec: contract 8.6, D39."""

import pytest

from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Event
from tests.asserts import assert_refused, assert_store_is_sound, state
from tests.spec import spec
from tests.workflows.flows import (
    batch,
    by_type,
    chain,
    claimed,
    complete,
    created,
    fail,
    graph,
    group,
    job,
    run,
    seen,
    states,
)
from workflows.services.cancel import cancel

pytestmark = pytest.mark.usefixtures("store")


@spec("contract 8.6")
def test_jobs_and_steps_that_wait_are_cancelled() -> None:
    flow = created(graph(a="", b="", c="a b"))

    done = cancel(flow)

    shown = seen(flow)
    assert (shown["state"], states(flow)) == ("cancelled", ["cancelled"] * 3)
    assert (done.steps_cancelled, done.steps_already_completed) == (3, 0)
    assert shown["cancelled_at"] == shown["completed_at"] == shown["metadata"]["cancelled_at"]
    assert shown["steps_failed"] == 0
    assert all(state(step["job_id"]) is State.CANCELLED for step in shown["steps"][:2])
    assert run() == []
    assert_store_is_sound()


@pytest.mark.parametrize("succeeds", [True, False])
@spec("contract 8.6")
def test_active_jobs_finish_and_start_nothing(succeeds: bool) -> None:
    flow = created(chain(job("a"), job("b")))
    (active,) = claimed()

    done = cancel(flow)
    assert states(flow) == ["active", "cancelled"]
    (complete if succeeds else fail)(active)

    assert states(flow) == ["completed" if succeeds else "failed", "cancelled"]
    assert (done.steps_cancelled, seen(flow)["state"]) == (1, "cancelled")
    assert run() == []


@spec("contract 8.6")
def test_jobs_that_wait_for_a_retry_are_cancelled() -> None:
    flow = created(group(job()))
    fail(*claimed(), retryable=True)

    cancel(flow)

    assert states(flow) == ["cancelled"]


@spec("contract 8.6")
def test_no_callback_fires() -> None:
    flow = created(batch(job("a"), job("b"), on_complete=job("c"), on_failure=job("d")))
    jobs = by_type(claimed(count=1))

    cancel(flow)
    complete(*jobs.values())

    assert run() == []
    assert {one["state"] for one in seen(flow)["callbacks"].values()} == {"cancelled"}


@spec("contract 8.6")
def test_callbacks_that_wait_are_cancelled() -> None:
    flow = created(batch(job("a"), on_complete=job("c")))
    complete(*claimed())

    done = cancel(flow)

    assert run() == []
    assert (done.steps_cancelled, done.steps_already_completed) == (0, 1)


@spec("contract 8.6")
def test_nested_workflows_are_cancelled_with_it() -> None:
    flow = created(chain(group(job("a"), chain(job("b"), job("c"))), job("d")))
    inner = seen(flow)["steps"][0]

    done = cancel(flow)

    assert seen(inner["workflow_id"])["state"] == "cancelled"
    assert done.steps_cancelled == 4
    assert run() == []
    assert_store_is_sound()


@spec("contract 8.6")
def test_a_nested_workflow_is_cancelled_with_the_outer_one_only() -> None:
    flow = created(chain(group(job())))
    inner = seen(flow)["steps"][0]["workflow_id"]

    with pytest.raises(Conflict) as caught:
        cancel(inner)

    assert_refused(caught.value, Conflict, root_workflow_id=flow)


@spec("contract 8.6")
def test_what_is_over_cannot_be_cancelled() -> None:
    flow = created(chain(job()))
    run()

    with pytest.raises(Conflict) as caught:
        cancel(flow)

    assert_refused(caught.value, Conflict, current_state="completed")
    with pytest.raises(NotFound):
        cancel(new_id())
    with pytest.raises(NotFound):
        cancel("no id")


@spec("contract 12.4")
def test_a_cancel_is_told_once() -> None:
    flow = created(group(job(), job()))

    cancel(flow)

    (event,) = Event.objects.filter(kind=54)
    assert event.data is not None
    assert (event.data["workflow_id"], event.data["total_steps"]) == (flow, 2)


@spec("contract 8.6")
def test_a_wide_group_with_active_and_ended_members() -> None:
    flow = created(group(*[job() for _ in range(200)]))
    active = claimed(count=50)
    complete(*active[:20])

    done = cancel(flow)
    complete(*active[20:])

    assert (done.steps_cancelled, done.steps_already_completed) == (150, 20)
    assert (seen(flow)["jobs_completed"], seen(flow)["jobs_failed"]) == (50, 0)
    assert_store_is_sound()
