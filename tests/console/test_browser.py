"""The console in Chromium on a real server, as a person sees it."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from attention.services.look import look
from console.access import UPDATE
from jobs.domain.states import State
from jobs.models import LoopTick
from jobs.queries import ago
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.cancel import cancel
from tests.asserts import assert_state
from tests.concurrency import aggregate_all
from tests.console.conftest import PASSWORD, WAIT_MS, answer
from tests.factories import DraftFactory, JobFactory, stored_ids

expect.set_options(timeout=WAIT_MS)
PATHS = ("/console/", "/console/jobs/", "/console/queues/", "/console/dead-letter/",
         "/console/rate-limits/", "/console/workers/", "/console/events/",
         "/console/webhooks/", "/console/operations/", "/console/operations/new/?verb=cancel",
         "/console/jobs/?args=x&columns=args,meta,error,since")  # fmt: skip


# all parts of the frame have the same middle
ONE_LINE = """() => {
  const parts = [...document.querySelectorAll('.top > *')].filter(one => one.offsetHeight);
  const middles = parts.map(one => one.offsetTop + one.offsetHeight / 2);
  return Math.max(...middles) - Math.min(...middles) < 5;
}"""


def test_the_overview_follows_what_happens_without_a_reload(page: Page) -> None:
    tile = page.locator("a.tile.available strong")
    expect(tile).to_have_text("0")
    page.evaluate("window.isSamePage = true")
    with page.expect_request(lambda one: UPDATE.lower() in one.headers):
        stored_ids(1234)
    expect(tile).to_have_text("1,234")
    assert page.evaluate("window.isSamePage")


def test_every_page_is_in_sight_on_a_small_laptop(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    bar = "document.querySelector('.top > nav')"

    assert page.evaluate(f"{bar}.scrollWidth <= {bar}.clientWidth")
    assert page.evaluate(ONE_LINE)
    audit = page.get_by_role("link", name="Audit")
    expect(audit).to_be_hidden()
    page.get_by_text("More").click()
    audit.click()
    expect(page.locator(".more summary")).to_have_text("Audit log")
    for width in (1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(ONE_LINE), width


def test_the_menu_is_whole_on_a_telephone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/console/queues/")
    page.locator(".more > summary").click()
    for link in page.locator(".more > nav a").all():
        box = link.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.locator(".more").get_by_role("link", name="Audit log").click()  # nothing covers it
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")


def test_events_are_added_while_they_happen(page: Page) -> None:
    page.goto("/console/events/?type=job.*")
    expect(page.locator("#following")).to_have_text("Following live")
    (job_id,) = stored_ids(1)
    row = page.locator("tr.new")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("job.enqueued")
    assert row.get_by_role("link").get_attribute("href") == f"/console/jobs/{job_id}/"
    added = row.locator("time").inner_text()
    page.reload()
    expect(page.locator("tbody time").first).to_have_text(added)  # the same form of time


def test_an_event_that_was_added_leads_to_its_tenant(page: Page) -> None:
    page.goto("/console/events/")
    expect(page.locator("#following")).to_have_text("Following live")
    enqueue([replace(DraftFactory.create(), tenant="acme:eu", meta={"tenant_id": "acme:eu"})])
    link = page.locator("tr.new").get_by_role("link", name="acme:eu")
    link.first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("acme:eu")


def test_a_job_is_found_looked_at_and_cancelled(page: Page) -> None:
    job = JobFactory.create(type="mail.send", queue="mail", args=["someone@example.org"])
    stored_ids(3)
    page.get_by_role("link", name="Jobs").click()
    page.get_by_label("Type", exact=True).fill("mail.*")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="mail.send").click()
    expect(page.locator("pre").first).to_contain_text("someone@example.org")
    page.get_by_role("button", name="Cancel").click()
    answer(page)
    expect(page.get_by_role("status")).to_contain_text("is cancelled")
    expect(page.locator(".timeline li").first).to_contain_text("cancelled")
    assert_state(State.CANCELLED, job.id)


def test_a_refused_question_does_nothing(page: Page) -> None:
    job = JobFactory.create()
    page.goto(f"/console/jobs/{job.id}/")
    page.get_by_role("button", name="Cancel").click()
    answer(page, does=False)
    assert_state(State.AVAILABLE, job.id)
    cancel(job.id)


def test_an_open_part_stays_open_when_the_page_refreshes(page: Page) -> None:
    job = JobFactory.create()
    page.goto(f"/console/jobs/{job.id}/")
    page.locator("#envelope summary").click()
    page.locator("h1").click()  # the section loses the focus, so that it may refresh
    cancel(job.id)
    expect(page.locator("h1 .badge")).to_have_text("cancelled")
    assert page.locator("#envelope").get_attribute("open") is not None


def test_a_lost_server_is_told(page: Page) -> None:
    page.route("**/console/", lambda route: route.fulfill(status=503, body="away"))
    expect(page.locator("body")).to_have_class("stale")
    page.unroute("**/console/")
    expect(page.locator("body")).not_to_have_class("stale")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_no_page_is_wider_than_the_screen(page: Page, width: int, scheme: str) -> None:
    dead = JobFactory.create(
        state=State.DISCARDED, type="a." + "long" * 40, queue="q" * 60, args=["x" * 3000]
    )
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    job = f"/console/jobs/{dead.id}/"
    for path in (*PATHS, job, f"{job}retry/", f"{job}clone/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ("245, 246, 248" in background) == (scheme == "light")


def test_logging_out_and_a_wrong_password(page: Page) -> None:
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Name").fill("operator")
    page.get_by_label("Password").fill(PASSWORD + "x")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match")
    page.goto("/console/jobs/")
    assert "/console/login" in page.url


def test_pages_need_no_script(browser: Browser, server: str, operator: object) -> None:
    context = browser.new_context(base_url=server, java_script_enabled=False)
    tab = context.new_page()
    tab.goto("/console/login/")
    tab.get_by_label("Name").fill("operator")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Log in").click()
    expect(tab.get_by_role("link", name="Dead letter").first).to_be_visible()
    job = JobFactory.create(state=State.DISCARDED, retry={"on_exhaustion": "dead_letter"})
    tab.goto("/console/dead-letter/")
    tab.get_by_role("button", name="Retry", exact=True).click()
    expect(tab.get_by_role("status")).to_contain_text("available")
    assert_state(State.AVAILABLE, job.id)
    context.close()


def test_the_overview_draws_what_happened_and_has_it_as_a_table(page: Page) -> None:
    JobFactory.create(state=State.COMPLETED)
    aggregate_all()
    page.reload()
    expect(page.locator(".legend").first).to_contain_text("1 completed")  # aggregated by now
    chart = page.locator("[data-chart=throughput]")
    expect(chart.locator("canvas")).to_have_count(1)
    chart.get_by_text("As a table").click()
    row = chart.locator("tbody tr").first
    expect(row.locator("td")).to_have_text(["1", "1", "0"])


def test_a_finding_leads_to_its_cause(page: Page) -> None:
    LoopTick.objects.create(name="a-loop-of-old", ticked_at=ago(3_600_000))
    try:
        look()
        page.reload()
        finding = page.locator("main .finding").filter(has_text="a-loop-of-old")
        expect(finding).to_contain_text("does not get on")
        expect(finding).to_contain_text("for 1 h")
        finding.get_by_role("link", name="Show loops").click()
        expect(page).to_have_url(re.compile("/console/system/$"))
    finally:
        LoopTick.objects.filter(name="a-loop-of-old").delete()


def test_keys_search_walk_the_rows_and_open_the_palette(page: Page) -> None:
    first, second = stored_ids(2)
    page.goto("/console/jobs/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.matches('main input')")
    page.keyboard.type("jk?")  # letters that are typed are no shortcuts
    expect(page.locator("#help")).to_be_hidden()
    page.evaluate("document.activeElement.blur()")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    here = page.evaluate("document.activeElement.getAttribute('href')")
    assert here in {f"/console/jobs/{one}/" for one in (first, second)}

    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")

    page.keyboard.press("Control+k")
    page.keyboard.type("queu")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/queues/")

    page.keyboard.press("Control+k")
    page.keyboard.type(first)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/console/jobs/{first}/")


def test_colours_and_the_time_zone_that_were_chosen_stay(page: Page) -> None:
    stored_ids(1)
    for words in ("theme dark", "times utc"):
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-zone", "UTC")
    page.goto("/console/jobs/")

    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    expect(page.locator("time").first).to_have_attribute("title", re.compile(r" UTC$"))


def test_a_question_names_what_it_changes_and_its_button_what_it_does(page: Page) -> None:
    stored_ids(1, queue="mail")
    page.goto("/console/queues/")
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")

    expect(dialog.locator("#ask-target")).to_have_text("mail")
    expect(dialog.get_by_role("button").first).to_have_text("Pause")
    answer(page, does=False)
