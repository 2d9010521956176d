"""The page of a worker: its jobs, its declaration and its directives."""

from django.test import Client
from playwright.sync_api import Page, expect

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Audit, Worker
from jobs.services.dispatch.fetch import fetch
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_state
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import text, url
from tests.factories import stored_ids

expect.set_options(timeout=WAIT_MS)


def working(name: str, **facts: object) -> str:
    """Register a worker and let it take a job; return the job's id."""
    heartbeat(Report(name, **facts))  # type: ignore[arg-type]
    (job_id,) = stored_ids(1, queue="mail")
    fetch(FetchRequest(("mail",), worker_id=name))
    return job_id


def test_a_worker_shows_what_it_runs_and_said(console: Client) -> None:
    job_id = working("w/1", hostname="host", pid=7, labels={"memory_bytes": 3 * 1024**2})

    page = text(console, url("worker", "w/1"))

    assert url("job", job_id) in page
    assert "3\N{NO-BREAK SPACE}MB" in page
    assert "process 7" in page
    assert "declares no versions" in page
    assert console.get(url("worker", "unknown")).status_code == 404


def test_memory_that_is_no_number_is_not_reported(console: Client) -> None:
    for n, labels in enumerate(([1], {"memory_bytes": "much"}, {"memory_bytes": -1}, None)):
        heartbeat(Report(f"w{n}", labels=labels))
        assert "not reported" in text(console, url("worker", f"w{n}"))


def test_a_dead_worker_is_forgotten_and_a_live_one_is_not(console: Client) -> None:
    job_id = working("w1")

    assert "is alive" in messages_of(act(console, "remove-worker", id="w1"))[-1]
    Worker.objects.update(dead_at="2020-01-01T00:00:00Z")
    act(console, "remove-worker", id="w1", reason="its machine is gone")

    assert_state(State.AVAILABLE, job_id)
    entry = Audit.objects.get(action="worker.removed")
    assert (entry.reason, entry.data) == ("its machine is gone", {"returned_jobs": 1})
    assert "does not exist" in messages_of(act(console, "remove-worker", id="w1"))[-1]


def test_a_worker_is_told_to_be_quiet_and_to_end_by_hand(page: Page) -> None:
    working("w1")
    page.goto(url("workers"))
    page.get_by_role("link", name="w1").click()
    page.get_by_role("button", name="Quiet").click()
    answer(page, "a release")
    expect(page.locator("h1 .badge")).to_have_text("quiet")
    assert Audit.objects.get(action="worker.quiet").reason == "a release"
    page.get_by_role("button", name="Resume", exact=True).click()
    answer(page)
    expect(page.locator("h1 .badge")).to_have_text("running")
    page.get_by_role("button", name="Terminate").click()
    answer(page)
    expect(page.locator("h1 .badge")).to_have_text("terminate")
    assert Worker.objects.get().directive == 2
