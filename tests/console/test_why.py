"""Why nothing happens here: causes with their remedies at the top of pages."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from attention.models import Finding
from attention.services.look import look
from federation.services.registry import configure
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Queue, Worker
from jobs.queries import ago, tick
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure as configure_queue
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause, resume
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.services.workers.workers import direct
from scheduling.services.cron_fire import fire
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.domain.tenant import Standing as OfTenant
from tenancy.services import tenants
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_pages import MOST_OF_CAUSES, MOST_STATEMENTS, text, url
from tests.factories import JobFactory, stored, stored_ids
from tests.federation.wire import federate
from tests.jobs.services.record.test_rates import aggregated
from tests.scheduling.conftest import entry, make_due, registered
from tests.scheduling.pools import put as put_pool
from tests.versioning.wire import TYPE, declares, push
from tests.workflows.flows import chain, claimed, created, job

expect.set_options(timeout=WAIT_MS)

OPERATOR = Caller("ada")
HEADING = "Why nothing happens here"
NOTHING = ""


def why(client: Client, address: str) -> str:
    """Return the statements of a page as HTML; empty: the page shows none."""
    page = text(client, address)
    _, found, rest = page.partition('id="why-here"')
    return rest.partition("</section>")[0] if found else NOTHING


def of(tenant: str, number: int = 1, queue: str = "mail") -> list[str]:
    """Enqueue jobs of a tenant."""
    made = stored(number, meta={"tenant_id": tenant}, tenant=tenant, queue=queue)
    return [one.id for one in made]


def served(queue: str = "mail") -> None:
    heartbeat(Report("w1", queues=(queue,), concurrency=5))


def waits_paused() -> str:
    stored_ids(1, queue="mail")
    served()
    pause("mail", OPERATOR)
    return "Queue mail is paused."


def waits_without_worker() -> str:
    stored_ids(1, queue="mail")
    return "No live worker takes the jobs of queue mail."


def waits_for_maintenance() -> str:
    stored_ids(1, queue="mail")
    served()
    maintenance.start(OPERATOR, reason="upgrade", duration_ms=None)
    return "Maintenance is on."


def waits_at_limit() -> str:
    configure_queue("mail", {"concurrency": 1})
    stored_ids(2, queue="mail")
    served()
    fetch(FetchRequest(("mail",), worker_id="w1"))
    return "The limit of queue mail is reached."


def waits_at_limit_of_zero() -> str:
    configure_queue("mail", {"concurrency": 0})
    stored_ids(1, queue="mail")
    served()
    return "The limit of queue mail is 0, so no job starts."


def waits_at_rate_limit() -> str:
    for _ in range(2):
        stored(1, queue="mail", rate_limit={"key": "smtp", "concurrency": 1})
    served()
    fetch(FetchRequest(("mail",), worker_id="w1"))
    return "The limit of smtp is reached."


def waits_without_pool_worker() -> str:
    put_pool("fast", "mail", isolated=True)
    stored_ids(1, queue="mail")
    served()
    return "No live worker of a pool may take jobs of queue mail."


def waits_for_full_pool() -> str:
    put_pool("fast", "mail", isolated=True, concurrency=1)
    stored_ids(2, queue="mail")
    heartbeat(Report("w1", pool="fast"))
    fetch(FetchRequest(("mail",), worker_id="w1", pool="fast"))
    return "Pool fast runs as many jobs as it may."


WAITING = (
    waits_paused, waits_without_worker, waits_for_maintenance, waits_at_limit,
    waits_at_limit_of_zero, waits_at_rate_limit, waits_without_pool_worker, waits_for_full_pool,
)  # fmt: skip
REMEDIES = {
    waits_paused: "/console/actions/resume/",
    waits_without_worker: "/console/workers/?ended=1",
    waits_for_maintenance: "/console/actions/end-maintenance/",
    waits_at_limit: "/console/queues/mail/#configuration",
    waits_at_limit_of_zero: "/console/queues/mail/#configuration",
    waits_at_rate_limit: "/console/rate-limits/?name=smtp",
    waits_without_pool_worker: "/console/pools/",
    waits_for_full_pool: "/console/pools/fast/edit/",
}


@pytest.mark.parametrize("make", WAITING)
def test_a_queue_a_type_and_a_job_name_the_cause_with_its_remedy(
    console: Client, make: Callable[[], str]
) -> None:
    cause = make()
    waiting = url("queue", "mail")
    with CaptureQueriesContext(connection) as captured:
        found = why(console, waiting)

    assert found.index(cause) < found.index(REMEDIES[make])
    assert f'href="{waiting}"' not in found
    assert len(captured) <= MOST_STATEMENTS + MOST_OF_CAUSES
    example = found.partition('href="/console/jobs/')[2].partition('"')[0]
    for page in (url("type", "tests.noop"), f"/console/jobs/{example}"):
        found = why(console, page)
        assert cause in found
        assert REMEDIES[make] in found


def test_pages_say_nothing_when_all_is_well(console: Client) -> None:
    tick("promote")
    served()
    (job_id,) = stored_ids(1, queue="mail")
    tenants.put("blue", Definition())
    registered("digest")
    flow = created(chain(job("a"), job("b")))
    claimed()
    aggregated()
    look()

    for page in (
        url("queue", "mail"), url("type", "tests.noop"), url("job", job_id), url("worker", "w1"),
        url("tenant", "blue"), url("cron", str(entry("digest").pk)), url("workflow", flow),
    ):  # fmt: skip
        assert why(console, page) == NOTHING, page


def test_a_suspended_tenant_reads_suspended_on_every_page(console: Client) -> None:
    tenants.put("blue", Definition(limits=TenantLimits(max_concurrency=3)))
    (job_id,) = of("blue")
    served()
    tenants.set_standing("blue", OfTenant.SUSPENDED, OPERATOR, reason="unpaid")
    lanes.clear_cache()
    fetch(FetchRequest(("mail",), worker_id="w1"))  # marks the lane

    for page in (
        url("tenant", "blue"), url("job", job_id), url("queue", "mail"), url("type", "tests.noop"),
        url("tenants"), url("limits"), url("overview"), url("jobs"),
    ):  # fmt: skip
        shown = text(console, page)
        assert "0 may" not in shown
        assert "0 of 0" not in shown
        assert "limit reached" not in shown
        assert "0/0" not in shown
        if 'id="why-here"' in shown:
            found = why(console, page)
            assert found.count("<b>") == 1
            assert "Tenant blue is suspended." in found
            assert "/console/actions/tenant-resume/" in found
    assert HEADING in text(console, url("tenant", "blue"))


def test_a_tenant_names_the_limit_that_refuses_new_jobs(console: Client) -> None:
    tenants.put("blue", Definition(limits=TenantLimits(max_queue_depth=1)))
    of("blue")
    served()

    found = why(console, url("tenant", "blue"))

    assert "Tenant blue has reached its limit of “Available and scheduled jobs”." in found
    assert url("tenant_edit", "blue") in found


def test_a_version_without_worker_is_named_on_job_and_type(console: Client) -> None:
    declares("w1", "1.0")
    pushed = push("2.0")

    for page in (url("type", TYPE), url("job", pushed["id"]), url("queue", pushed["queue"])):
        found = why(console, page)
        assert f"No running worker accepts version 2.0 of {TYPE}." in found
        assert url("versions_of_type", TYPE) in found


def quiet() -> tuple[str, str]:
    direct("w1", "quiet")
    return "An operator told worker w1 to take no new jobs.", "actions/unquiet/"


def ending() -> tuple[str, str]:
    direct("w1", "terminate")
    return "An operator told worker w1 to terminate.", ""


def dead() -> tuple[str, str]:
    Worker.objects.update(dead_at=ago(1_000))
    return "Worker w1 sends no heartbeat.", "actions/remove-worker/"


def stopped() -> tuple[str, str]:
    Worker.objects.update(stopped_at=ago(1_000))
    return "Worker w1 has stopped.", "actions/remove-worker/"


def leaves() -> tuple[str, str]:
    heartbeat(Report("w1", queues=("mail",), standing=Standing.QUIET))
    return "Worker w1 takes no new jobs.", ""


def all_paused() -> tuple[str, str]:
    stored_ids(1, queue="mail")
    pause("mail", OPERATOR)
    return "Queue mail is paused.", "actions/resume/"


@pytest.mark.parametrize("make", [quiet, ending, dead, stopped, leaves, all_paused])
def test_a_worker_says_why_it_takes_no_jobs(
    console: Client, make: Callable[[], tuple[str, str]]
) -> None:
    served()
    cause, remedy = make()

    found = why(console, url("worker", "w1"))

    assert cause in found
    assert remedy in found


def test_a_schedule_says_why_it_does_not_run(console: Client) -> None:
    registered("digest", enabled=False)
    page = url("cron", str(entry("digest").pk))
    found = why(console, page)
    assert "Schedule digest is paused." in found
    assert "/console/actions/cron-resume/" in found

    registered("hourly")
    make_due("hourly")
    fire()
    page = url("cron", str(entry("hourly").pk))
    assert "No live worker takes the jobs of queue" in why(console, page)
    make_due("hourly")
    fire()
    found = why(console, page)
    assert "The latest run made no job: skipped: the previous run was live." in found
    assert "/console/jobs/" in found


def test_a_workflow_names_the_step_that_waits_and_why(console: Client) -> None:
    flow = created(chain(job("a"), job("b")))

    found = why(console, url("workflow", flow))

    assert "waits. No live worker takes the jobs of queue" in found


def test_a_drained_region_is_named_on_the_queue(console: Client) -> None:
    federate()
    stored_ids(1, queue="mail")
    served()
    configure.set_drain("us", OPERATOR, drain=True)

    found = why(console, url("queue", "mail"))

    assert "Region us, the region of this server, is drained." in found
    assert "/console/actions/region-undrain/" in found


def test_a_finding_replaces_the_same_cause_and_ends_with_it(console: Client) -> None:
    tick("promote")
    stored_ids(2, queue="mail")
    served()
    aggregated()
    pause("mail", OPERATOR, "bad deploy")
    Queue.objects.update(paused_at=ago(600_000))
    look()

    found = why(console, url("queue", "mail"))
    assert "Queue mail is paused, and 2 jobs wait." in found
    assert "ada paused it: bad deploy" in found
    assert found.count("<b>") == 1
    assert str(Finding.objects.get(rule="queue_paused").id) in found

    resume("mail", OPERATOR)  # the finding stays until the next look
    assert why(console, url("queue", "mail")) == NOTHING


def test_a_viewer_sees_causes_without_buttons(viewer: User) -> None:
    waits_paused()
    client = Client()
    client.force_login(viewer)

    found = why(client, url("queue", "mail"))

    assert "Queue mail is paused." in found
    assert "/console/actions/" not in found


def test_a_waiting_job_is_mended_on_its_page(page: Page) -> None:
    waits_paused()
    JobFactory.create(state=State.AVAILABLE, queue="mail")
    page.goto(url("queue", "mail"))
    cause = page.get_by_role("region", name=HEADING)

    cause.get_by_role("link", name="Show a waiting job").click()
    cause.get_by_role("button", name="Resume queue").click()
    answer(page)

    expect(page.get_by_role("status")).to_contain_text("Queue mail is resumed")
    expect(cause).to_have_count(0)
