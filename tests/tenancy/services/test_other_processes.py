"""A change applies in every process from its commit on. Spec: MT 15.1."""

from collections.abc import Callable

import pytest
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.models import Lane
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import configuration
from jobs.services.upkeep.reset import clear_caches
from tenancy.domain.errors import TenantLimitExceeded, TenantSuspended
from tenancy.domain.tenant import Definition, Standing, TenantLimits
from tenancy.models import Tenant
from tenancy.services import tenant_cache
from tenancy.services.tenants import delete, put, set_standing
from tests.factories import DraftFactory
from tests.spec import spec
from tests.tenancy.wire import answer, send
from workflows.models import Step
from workflows.services.resume import resume

pytestmark = pytest.mark.usefixtures("store")


def elsewhere(change: Callable[[], object]) -> None:
    """Make a change as in another process: the cache of this process stays."""
    known = configuration.cache.latest, tenant_cache.cache.latest
    change()
    clear_caches()
    configuration.cache.latest, tenant_cache.cache.latest = known


def send_one() -> None:
    """Enqueue a job of the tenant."""
    enqueue([DraftFactory.create(meta={"tenant_id": "blue"})])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda: put("blue", Definition(limits=TenantLimits(max_queue_depth=1))),
            TenantLimitExceeded,
        ),
        (lambda: set_standing("blue", Standing.SUSPENDED), TenantSuspended),
    ],
)
@spec("MT-15.1-c")
def test_change_elsewhere_counts_for_the_next_job(
    change: Callable[[], object], problem: type[OJSError]
) -> None:
    send_one()
    elsewhere(change)

    with pytest.raises(problem):
        send_one()


@spec("MT-15.1-c")
def test_boost_that_changed_elsewhere_counts_for_new_lanes_and_those_that_wait() -> None:
    send_one()
    enqueue([DraftFactory.create(meta={"tenant_id": "red"}, priority=5)])
    low_water_marks.clear()
    fetch(FetchRequest(("default",)))
    elsewhere(lambda: put("blue", Definition(boost=10)))
    enqueue([DraftFactory.create(meta={"tenant_id": "red"}, priority=5)])
    enqueue([DraftFactory.create(meta={"tenant_id": "blue"}, priority=1)])

    assert set(Lane.objects.filter(tenant="blue").values_list("rank", flat=True)) == {-10, -11}
    found = [fetch(FetchRequest(("default",))).jobs[0] for _ in range(3)]
    assert [(job.tenant, job.priority) for job in found] == [("blue", 1), ("blue", 0), ("red", 5)]


@spec("MT-15.1-c")
def test_tenant_that_was_deleted_elsewhere_is_made_again() -> None:
    put("blue", Definition())
    tenant_cache.current(["blue"], configuration.version())
    elsewhere(lambda: delete("blue"))

    send_one()

    assert Tenant.objects.get().source == "auto"


@spec("D-MT-14")
def test_step_of_a_workflow_waits_while_its_tenant_is_suspended() -> None:
    step = {"type": "tests.noop", "args": []}
    sent = {"type": "chain", "steps": [step, step]}
    flow = answer(send("POST", "workflows", sent, X_OJS_Tenant="blue"), 201)
    (job,) = answer(send("POST", "workers/fetch", {"queues": ["default"]}))["jobs"]
    set_standing("blue", Standing.SUSPENDED)
    answer(send("POST", "workers/ack", {"job_id": job["id"]}))
    _try_again()

    assert "failed" not in _steps(flow)
    set_standing("blue", Standing.ACTIVE)
    _try_again()
    assert len(answer(send("POST", "workers/fetch", {"queues": ["default"]}))["jobs"]) == 1


def _try_again() -> None:
    assert Step.objects.filter(job_id=None).update(due_at=Now()) == 1
    assert resume() == 1


def _steps(flow: dict[str, object]) -> list[str]:
    identity = flow.get("id") or flow["workflow"]["id"]  # type: ignore[index]  # either form
    found = answer(send("GET", f"workflows/{identity}"))
    shown = found.get("workflow", found)
    return [step["state"] for step in shown["steps"]]
