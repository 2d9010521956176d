"""Workflows that steps of jobs started: their end wakes the parent. Spec: contract 34.2."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable.models import Wait
from durable.services import checkpoints
from durable.services.checkpoints import Save
from durable.services.explain import explain
from durable.services.suspend import suspend
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.services.outcome.cancel import cancel as cancel_job
from jobs.services.read.show import show
from ojs_tasks.children import CANCEL, FLOW_ENDED, PARENT, WITH_PARENT
from ojs_tasks.worker.ports import Suspend
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory
from tests.spec import spec
from tests.workflows.flows import chain, claimed, complete, created, fail, group, job, seen
from workflows.models import Workflow
from workflows.services.cancel import cancel

pytestmark = pytest.mark.usefixtures("store")
OTHER = "01965000-0000-7000-8000-000000000000"


def parent() -> str:
    """Return an active job with a checkpoint."""
    job_id = JobFactory.create(state=State.ACTIVE, queue="parents").id
    checkpoints.save(Save(job_id, "{}"))
    return job_id


def started(of: str, kind: str = "flow.step", **meta: str) -> str:
    """Return a workflow of one job that a step of this job started."""
    return created(group(job(kind), meta={PARENT: of, **meta}))


def wait(job_id: str, *flows: str) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    suspend(Suspend(job_id, "flow", until, tuple(f"{FLOW_ENDED}{one}" for one in flows)))


@pytest.mark.parametrize("end", [complete, fail])
@spec("contract 34.2")
def test_end_of_a_workflow_wakes_the_parent_that_waits_for_it(end: Any) -> None:
    job_id = parent()
    first, second = started(job_id, "flow.first"), started(job_id, "flow.second")
    wait(job_id, first)
    members = {one.type: one for one in claimed()}

    end(members["flow.second"])
    assert_state(State.SCHEDULED, job_id)
    end(members["flow.first"])

    assert_state(State.AVAILABLE, job_id)
    assert Wait.objects.get().is_woken
    assert seen(second)["parent_job_id"] == job_id
    assert_store_is_sound()


@spec("contract 34.2")
def test_cancel_of_a_workflow_wakes_the_parent_that_waits_for_it() -> None:
    job_id = parent()
    flow = started(job_id)
    wait(job_id, flow)

    cancel(flow)

    assert_state(State.AVAILABLE, job_id)


@spec("contract 34.2")
def test_end_of_the_outermost_workflow_alone_wakes_the_parent() -> None:
    job_id = parent()
    flow = created(chain(group(job("in")), job("last"), meta={PARENT: job_id}))
    wait(job_id, flow)

    complete(*claimed())
    assert_state(State.SCHEDULED, job_id)
    complete(*claimed())

    assert_state(State.AVAILABLE, job_id)


@spec("contract 34.2")
def test_wait_for_a_workflow_that_has_ended_is_over_at_once() -> None:
    job_id = parent()
    flow = started(job_id)
    complete(*claimed())

    wait(job_id, flow)

    assert_state(State.AVAILABLE, job_id)
    assert Wait.objects.get().is_woken


@spec("contract 34.2")
def test_explanation_names_the_workflow_that_a_step_waits_for() -> None:
    job_id = parent()
    flow = started(job_id)
    wait(job_id, flow)

    (gate,) = explain(show(job_id))

    assert f"the end of workflow {flow}" in gate.message


@spec("contract 34.2")
def test_workflow_shows_no_parent_that_its_end_would_not_wake() -> None:
    job_id, ended = parent(), JobFactory.create(state=State.COMPLETED).id

    theirs = created(group(job(), meta={PARENT: job_id}), Caller("key", tenant="globex"))
    late, unknown = started(ended), started(OTHER)

    assert not any("parent_job_id" in seen(flow) for flow in (theirs, late, unknown))


@pytest.mark.parametrize("is_named", [True, False])
@spec("contract 34.2")
def test_cancel_takes_only_workflows_that_both_sides_name(is_named: bool) -> None:
    job_id = parent()
    named = started(job_id, **({CANCEL: WITH_PARENT} if is_named else {}))
    unnamed = started(job_id, **{CANCEL: WITH_PARENT})
    record = {"state": "running", "workflow": named, CANCEL: WITH_PARENT}
    checkpoints.save(Save(job_id, dumps({"__steps": {"flow": record}}).decode()))

    cancel_job(job_id)

    assert seen(named)["state"] == ("cancelled" if is_named else "running")
    assert seen(unnamed)["state"] == "running"
    assert_store_is_sound()


@spec("contract 34.2")
def test_cancel_of_a_workflow_cancels_what_steps_of_its_waiting_jobs_started() -> None:
    flow = created(group(job("member")))
    (member,) = claimed()
    below = JobFactory.create(queue="later", meta={PARENT: member.id, CANCEL: WITH_PARENT}).id
    record = {"state": "running", "job": below, CANCEL: WITH_PARENT}
    checkpoints.save(Save(member.id, dumps({"__steps": {"below": record}}).decode()))
    suspend(Suspend(member.id, "below", datetime.now(UTC) + timedelta(hours=1), ()))

    cancel(flow)

    assert_state(State.CANCELLED, member.id, below)
    assert_store_is_sound()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (group(job(), meta={PARENT: "nonsense"}), f"$.meta.{PARENT}"),
        (group(job(), meta={PARENT: 7}), f"$.meta.{PARENT}"),
        (group(job(), meta={PARENT: OTHER, CANCEL: "never"}), f"$.meta.{CANCEL}"),
        (group(job(), meta={CANCEL: WITH_PARENT}), f"$.meta.{CANCEL}"),
        (chain(group(job(), meta={PARENT: OTHER})), f"$.steps[0].meta.{PARENT}"),
    ],
)
@spec("contract 34.2")
def test_wrong_parents_are_refused_with_their_place(body: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        created(body)

    assert [one["path"] for one in refused.value.details["validation_errors"]] == [path]
    assert not Workflow.objects.exists()


@spec("contract 34.2")
def test_workflow_without_parent_takes_no_statement_more() -> None:
    with CaptureQueriesContext(connection) as found:
        flow = created(group(job()))
        complete(*claimed())

    assert seen(flow)["state"] == "completed"
    about = [one["sql"] for one in found if "ojs_wait" in one["sql"]]
    assert about == []
