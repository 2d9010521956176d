"""Findings in the console: the overview, the list, one finding, the thresholds."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import strip_tags
from playwright.sync_api import Page, expect

from attention.models import Finding, RuleChange
from attention.services.look import look
from attention.services.thresholds import setting
from jobs.domain.access.caller import Caller
from jobs.models import Queue, Ready, Worker
from jobs.queries import ago, tick
from jobs.services.operate.queues import pause, resume
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.services.workers.workers import direct
from tests.console.conftest import WAIT_MS, answer
from tests.factories import stored_ids
from tests.jobs.services.record.test_rates import aggregated

expect.set_options(timeout=WAIT_MS)

OVERVIEW, LIST = "/console/", "/console/attention/"
RULE = "/console/attention/rules/queue_late/"
HEARD = "waking.addEventListener('attention.closed', () => console.log('attention.closed'))"
# from now on the page reads itself anew only by events
TIMELESS = "window.setTimeout = () => 0; for (let n = 0; n < 10000; n++) clearTimeout(n)"
HIDDEN = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def paused() -> str:
    """Make an incident and return the path of its finding."""
    tick("promote")
    stored_ids(2, queue="mail")
    aggregated()
    pause("mail", Caller("ada"), "bad deploy")
    Queue.objects.filter(name="mail").update(paused_at=ago(600_000))
    look()
    return f"{LIST}{Finding.objects.get(rule='queue_paused').id}/"


def text(client: Client, path: str) -> str:
    """Return a page, which must exist."""
    found = client.get(path)
    assert found.status_code == 200
    return found.content.decode()


def test_the_overview_is_calm_or_shows_the_worst_with_its_remedy(console: Client) -> None:
    tick("promote")
    look()
    assert "Nothing needs attention." in text(console, OVERVIEW)

    paused()

    page = text(console, OVERVIEW)
    assert "Queue mail is paused, and 2 jobs wait." in page
    assert "ada paused it: bad deploy" in page
    facts = " ".join(strip_tags(page).split())
    assert re.search(r"ada paused it: bad deploy for 1\d min( \d+ s)? · 2 jobs", facts)
    assert 'action="/console/actions/resume/"' in page


def test_a_finding_shows_its_blast_radius_and_stays_when_it_has_ended(console: Client) -> None:
    path = paused()

    page = text(console, path)
    assert "Blast radius" in page
    assert "tests.noop" in page
    Finding.objects.update(ended_at=ago(0))
    page = text(console, path)
    assert "Blast radius" not in page
    assert 'action="/console/actions/resume/"' not in page
    assert "A paused queue has jobs: mail" in text(console, LIST)
    assert console.get(f"{LIST}none/").status_code == 404


def test_a_mute_needs_a_reason_and_moves_the_finding(console: Client) -> None:
    path = paused()
    form = {"id": path.split("/")[-2], "hours": "4", "next": path}

    wrong = console.post("/console/actions/attention-mute/", form, follow=True)
    assert "Reason is required." in wrong.content.decode()
    console.post("/console/actions/attention-mute/", {**form, "reason": "known"}, follow=True)

    assert "Queue mail is paused" not in text(console, OVERVIEW)
    assert "muted by console:operator until" in text(console, LIST)


def test_thresholds_are_saved_with_those_of_single_queues(console: Client) -> None:
    form = {"slo_s": "60", "window_m": "5", "min_jobs": "10", "enabled": "on"}

    wrong = console.post(RULE, {**form, "slo_s": "0"})
    assert wrong.status_code == 400
    assert "slo_s must be a whole number from 1 to 604800" in wrong.content.decode()
    assert console.post(RULE, {**form, "overrides": "mail"}).status_code == 400
    console.post(RULE, {**form, "overrides": "mail 5\n", "reason": "slow partner"})

    found = setting("queue_late")
    assert (found.values["slo_s"], found.overrides) == (60, {"mail": {"slo_s": 5}})
    assert "mail 5" in text(console, RULE)
    console.post(RULE, {"slo_s": "300", "window_m": "5", "min_jobs": "10"})
    assert not setting("queue_late").is_enabled
    assert console.get("/console/attention/rules/none/").status_code == 404


def test_a_viewer_sees_findings_without_buttons_and_mutes(viewer: User) -> None:
    path = paused()
    client = Client()
    client.force_login(viewer)

    assert "Queue mail is paused" in text(client, OVERVIEW)
    assert "/console/actions/" not in text(client, path)
    assert client.get(RULE).status_code == 403


def test_a_paused_queue_is_mended_from_the_overview_in_two_clicks(page: Page) -> None:
    paused()
    page.goto(OVERVIEW)
    finding = page.locator(".finding").filter(has_text="Queue mail is paused")

    finding.get_by_role("button", name="Resume queue").click()
    answer(page)

    expect(page.get_by_role("status")).to_contain_text("Its jobs start again")
    look()
    page.reload()
    expect(finding).to_have_count(0)
    assert Queue.objects.get(name="mail").paused_at is None


@pytest.mark.parametrize("path", [OVERVIEW, LIST])
def test_a_finding_appears_and_goes_by_an_event_unless_the_page_is_paused(
    page: Page, path: str
) -> None:
    page.goto(path)
    page.evaluate(TIMELESS)
    page.wait_for_function("() => waking?.readyState === EventSource.OPEN && !isTurning")
    finding = page.locator(".finding").filter(has_text="Queue mail is paused")

    paused()
    expect(finding).to_have_count(1)
    page.get_by_role("button", name="Pause updates").click()
    resume("mail", Caller("ada"))
    with page.expect_event("console", lambda said: said.text == "attention.closed"):
        page.evaluate(HEARD)
        look()
    expect(finding).to_have_count(1)
    page.get_by_role("button", name="Resume updates").click()
    expect(finding).to_have_count(0)


def test_a_page_out_of_sight_closes_its_stream(page: Page) -> None:
    page.goto(LIST)
    page.wait_for_function("() => waking?.readyState === EventSource.OPEN")

    page.evaluate(HIDDEN, True)
    assert page.evaluate("waking") is None
    page.evaluate(HIDDEN, False)
    page.wait_for_function("() => waking?.readyState === EventSource.OPEN")


def test_a_queue_of_a_quiet_worker_is_mended_from_the_overview_in_two_clicks(page: Page) -> None:
    heartbeat(Report("w", queues=("mail",)))
    stored_ids(1, queue="mail")
    Ready.objects.update(enqueued_at=ago(600_000))
    aggregated()
    direct("w", "quiet")
    look()
    page.goto(OVERVIEW)
    finding = page.locator(".finding").filter(
        has_text="No live worker takes the jobs of queue mail"
    )

    finding.get_by_role("button", name="Resume worker w").click()
    answer(page)

    expect(page.get_by_role("status")).to_contain_text("Worker w")
    assert Worker.objects.get(id="w").directive == 0


@pytest.fixture(autouse=True)
def _without_findings(store: None) -> Iterator[None]:
    """Begin without findings of other tests, and without that of a busy machine."""
    Finding.objects.all().delete()
    RuleChange.objects.create(rule="database_slow", is_enabled=False)
    yield
    RuleChange.objects.all().delete()
