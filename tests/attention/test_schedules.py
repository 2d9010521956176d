"""Rules about schedules, workflows and tenants; the calm case of each."""

from datetime import timedelta

import pytest
from django.db.models import F

from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.outcome.retry import normalise_error
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from scheduling.models import CronRun
from scheduling.services.cron_fire import fire
from tenancy.domain.tenant import Definition, Standing
from tenancy.services.tenants import put, set_standing
from tests.attention.incidents import aggregated, found
from tests.scheduling.conftest import entry, make_due, registered
from tests.scheduling.pools import of_tenant
from tests.workflows.flows import chain, claimed, complete, created, group, job
from workflows.models import Step, Workflow

pytestmark = pytest.mark.usefixtures("store")


def run(*, fails: bool) -> None:
    """Fire the schedule and end its job."""
    make_due()
    fire()
    (one,) = claimed()
    if fails:
        problem = {"code": "handler_error", "message": "no route to host", "retryable": False}
        nack([Nack(one.id, normalise_error(problem))])
    else:
        ack([Ack(one.id)])


def test_a_schedule_whose_runs_fail_is_found_since_the_first_of_them() -> None:
    registered()
    run(fails=True)
    run(fails=False)
    run(fails=True)
    since = CronRun.objects.get(number=2).noted_at
    run(fails=True)
    assert found("cron_failing") == []

    run(fails=True)

    (one,) = found("cron_failing")
    assert (one.hit.subject, one.hit.jobs, one.hit.since) == (str(entry().pk), 3, since)
    assert one.rule.text(one.hit) == "The last 3 runs of schedule nightly failed."
    assert "no route to host" in one.rule.cause(one.hit)
    run(fails=False)
    assert found("cron_failing") == []


def test_a_schedule_is_calm_while_runs_are_skipped_or_go_on() -> None:
    registered()
    for _ in range(4):  # the job of the first run goes on
        make_due()
        fire()

    assert CronRun.objects.filter(reason="overlap_skip").count() == 3
    assert found("cron_failing") == []


def test_a_schedule_that_did_not_fire_is_found_since_its_time() -> None:
    registered()
    make_due(ago=timedelta(seconds=60))
    assert found("cron_missed") == []
    at = make_due(ago=timedelta(minutes=10))

    (one,) = found("cron_missed")

    assert (one.hit.subject, one.hit.since) == (str(entry().pk), at)
    assert "loop cron" in one.rule.cause(one.hit)
    maintenance.start(SYSTEM, reason="disks", duration_ms=None)
    (one,) = found("cron_missed")
    assert one.rule.remedies(one.hit)[0].action == "end-maintenance"
    maintenance.end(SYSTEM)


def later(minutes: int) -> None:
    """Move all times of workflows back."""
    ago = timedelta(minutes=minutes)
    Workflow.objects.update(created_at=F("created_at") - ago, started_at=F("started_at") - ago)
    Step.objects.update(started_at=F("started_at") - ago, finished_at=F("finished_at") - ago)


def test_a_workflow_without_a_step_is_found_with_the_job_it_waits_for() -> None:
    flow = created(chain(job("first.step"), job("second.step"), name="import"))
    complete(*claimed())
    later(29)
    assert found("workflow_waits") == []
    later(16)

    (one,) = found("workflow_waits")

    assert one.rule.text(one.hit) == "Workflow import has made no step for long."
    assert "waits in queue default for a worker" in one.rule.cause(one.hit)
    assert one.hit.facts["workflow"] == flow
    assert one.hit.since == Step.objects.get(workflow_id=flow, index=0).finished_at


def test_workflows_of_a_name_are_one_finding_and_those_with_a_recent_step_are_calm() -> None:
    for _ in range(3):
        created(group(job(), job(), name="import"))
    later(45)
    created(chain(job(), name="new"))

    (one,) = found("workflow_waits")
    assert one.hit.jobs == 3

    complete(*claimed())
    assert found("workflow_waits") == []


def test_a_suspended_tenant_with_jobs_is_found_since_the_suspension() -> None:
    put("acme", Definition())
    of_tenant("acme", 2)
    aggregated()
    assert found("tenant_suspended") == []

    set_standing("acme", Standing.SUSPENDED, Caller("ada"), reason="unpaid")

    (one,) = found("tenant_suspended")
    assert (one.hit.subject, one.hit.tenant, one.hit.jobs) == ("acme", "acme", 2)
    assert one.rule.cause(one.hit) == "ada suspended it: unpaid"
    assert one.rule.remedies(one.hit)[0].action == "tenant-resume"


def test_a_suspended_tenant_without_jobs_is_calm() -> None:
    put("acme", Definition())
    set_standing("acme", Standing.SUSPENDED, SYSTEM)
    pause("q", SYSTEM)

    assert found("tenant_suspended") == []
