"""Removal of workflows and their jobs. Spec: contract 10.6, 28.3."""

import pytest

from jobs.extensions import TransitionHooks, implementers
from jobs.loops import run_once
from jobs.models import Finished, Job
from jobs.queries import ago
from tests.spec import spec
from tests.workflows.flows import chain, claimed, complete, created, group, job, run
from workflows.models import Slot, Step, Workflow
from workflows.services.cancel import cancel

pytestmark = pytest.mark.usefixtures("store")


def retained(*job_ids: str) -> set[str]:
    """Return the ids that the hook `retained_jobs` keeps, as retention asks it."""
    found = implementers(TransitionHooks.retained_jobs)
    return {kept for extension in found for kept in extension.retained_jobs(job_ids)}


def forget_jobs() -> None:
    """Remove ended jobs as retention does."""
    ended = list(Finished.objects.values_list("id", flat=True))
    Job.objects.filter(id__in=ended).delete()
    Finished.objects.all().delete()


@spec("contract 10.6")
def test_members_of_a_running_workflow_are_kept() -> None:
    created(chain(group(job("a")), job("b")))
    other = created(chain(job("x")))
    jobs = {one.type: one for one in claimed()}
    complete(*jobs.values())

    assert retained(jobs["a"].id, jobs["x"].id) == {jobs["a"].id}
    run()
    assert retained(jobs["a"].id, jobs["x"].id) == set()
    assert Workflow.objects.get(id=other).state == 2


@spec("contract 10.6")
def test_a_workflow_goes_with_its_last_member_after_its_time() -> None:
    flow = created(group(*[job() for _ in range(70)], chain(job())))
    run()

    forget_jobs()
    run_once(["prune_workflows"])
    assert Workflow.objects.filter(id=flow).exists()

    Workflow.objects.exclude(prune_at=None).update(prune_at=ago(1))
    run_once(["prune_workflows"])
    assert not any(model.objects.exists() for model in (Workflow, Step, Slot))


@spec("contract 10.6")
def test_a_workflow_whose_members_are_kept_stays() -> None:
    flow = created(chain(job()))
    run()
    Workflow.objects.update(prune_at=ago(1))

    run_once(["prune_workflows"])

    assert Workflow.objects.get(id=flow).prune_at is not None
    assert not Workflow.objects.filter(prune_at__lt=ago(0)).exists()


@spec("contract 10.6")
def test_a_running_workflow_is_never_removed() -> None:
    flow = created(chain(job(), job()))
    assert Workflow.objects.get(id=flow).prune_at is None

    cancel(flow)

    assert Workflow.objects.get(id=flow).prune_at is not None
