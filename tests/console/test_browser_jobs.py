"""Lists of jobs, operations and the dead letter in Chromium, as a person uses them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from console.models import Operation
from jobs.domain.states import State
from jobs.models import Job
from tests.asserts import assert_state
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_failure_groups import died
from tests.console.test_operations import begin, dead
from tests.factories import JobFactory, stored_ids
from tests.jobs.worker.conftest import Spawn
from tests.processes import until

expect.set_options(timeout=WAIT_MS)


@pytest.fixture
def cluster(store: None, spawn: Spawn) -> Iterator[None]:
    """Start the cluster that runs operator tasks."""
    process = spawn("manage.py", "qcluster")
    yield
    process.terminate()
    process.wait()


def test_more_filters_columns_and_a_saved_view(page: Page) -> None:
    stored_ids(3)
    stored_ids(1, args=["invoice-42"], version="2.1.0")
    page.goto("/console/jobs/")
    page.locator("#more-filters summary").click()
    page.get_by_label("In arguments").fill("INVOICE")
    page.get_by_role("button", name="Search").click()
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="Version").check()
    page.get_by_role("checkbox", name="Queue").uncheck()
    page.get_by_role("button", name="Set columns").click()
    rows = page.locator("#live tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("2.1.0")
    expect(page.locator("#more-filters")).to_have_attribute("open", "")

    page.get_by_text("Save view").click()
    page.get_by_label("Name").fill("Invoices")
    page.get_by_label("Share with all users").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("shared with all users")
    page.goto("/console/jobs/")
    headings = page.locator("#live thead")
    expect(headings).to_contain_text("Version")
    expect(headings).not_to_contain_text("Queue")
    page.get_by_role("navigation", name="Saved views").get_by_role("link", name="Invoices").click()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("In arguments")).to_have_value("INVOICE")


@pytest.mark.usefixtures("cluster")
def test_all_that_match_are_previewed_cancelled_and_watched_to_the_end(page: Page) -> None:
    ids = stored_ids(1300, queue="mail")
    (other,) = stored_ids(1, queue="other")
    page.goto("/console/jobs/?state=available&queue=mail")
    page.get_by_role("link", name="Cancel all").click()
    expect(page.locator(".much")).to_have_text("1,300 jobs")
    page.get_by_role("main").get_by_label("Reason").fill("wrong template")
    page.get_by_role("button", name="Cancel jobs").click()
    page.wait_for_url(re.compile(r"/operations/\d+/$"))
    page.evaluate("window.isSamePage = true")
    expect(page.locator("h1 .badge")).to_have_text("done")
    assert page.evaluate("window.isSamePage")  # the page followed the link without a reload
    expect(page.locator("progress")).to_have_attribute("value", "100")
    expect(page.locator("main")).to_contain_text("wrong template")
    assert_state(State.CANCELLED, ids[0], ids[-1])
    assert_state(State.AVAILABLE, other)


def test_an_operation_is_stopped_and_resumed(page: Page) -> None:
    stored_ids(3)
    operation = begin("cancel", state="available")
    page.goto(f"/console/operations/{operation.pk}/")
    expect(page.get_by_role("alert")).to_contain_text("no operator task cluster is running")
    page.get_by_role("button", name="Stop").click()
    answer(page, "too many")
    expect(page.locator("h1 .badge")).to_have_text("stopped")
    page.get_by_role("button", name="Resume", exact=True).click()
    answer(page)
    expect(page.locator("h1 .badge")).to_have_text("running")
    assert Operation.objects.get().state == "running"


@pytest.mark.usefixtures("cluster")
def test_what_is_listed_is_exported_and_downloaded(page: Page, tmp_path: Path) -> None:
    ids = stored_ids(7, queue="mail")
    page.goto("/console/jobs/?queue=mail")
    page.get_by_role("link", name="Export").click()
    page.get_by_label("JSON lines").check()
    page.get_by_role("button", name="Export jobs").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    file = tmp_path / "jobs"
    download.value.save_as(file)
    assert download.value.suggested_filename.endswith(".jsonl")
    assert sorted(re.findall(r'"id":"([0-9a-f-]+)"', file.read_text())) == sorted(ids)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_a_group_of_errors_is_drawn_looked_at_and_retried(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    ids = [died(f"user {n} not found") for n in range(3)]
    other = died("disk is full")
    page.goto("/console/dead-letter/")
    groups = page.locator("#groups .scroll tbody tr")
    expect(groups).to_have_count(2)
    expect(page.locator(".trend canvas")).to_be_visible()
    expect(page.locator(".spark canvas")).to_have_count(2)
    groups.first.get_by_role("link", name="Broken").click()
    expect(page.locator("#groups h2")).to_contain_text("Broken")
    expect(page.locator("#live tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Retry all").click()
    page.get_by_role("button", name="Retry jobs").click()
    expect(page.locator("h1 .badge")).to_have_text("done")
    assert_state(State.AVAILABLE, *ids)
    assert_state(State.DISCARDED, other)


def test_a_job_is_edited_retried_and_cloned(page: Page) -> None:
    job_id = dead("mail", args=["typo"])
    page.goto(f"/console/jobs/{job_id}/")
    page.get_by_role("link", name="Edit and retry").click()
    page.get_by_label("Arguments").fill('["right"')
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("alert")).to_contain_text("args cannot be read", ignore_case=True)
    page.get_by_label("Arguments").fill('["right"]')
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("status")).to_contain_text("available again with changed args")
    page.get_by_role("link", name="Clone").click()
    page.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("status")).to_contain_text("is enqueued")
    expect(page.locator("pre").first).to_contain_text("right")
    until(lambda: Job.objects.count() == 2, "the clone")


def test_keys_search_and_walk_through_the_rows(page: Page) -> None:
    ids = stored_ids(3)
    page.goto("/console/jobs/")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Queue")).to_be_focused()
    page.keyboard.type("jk?/")  # letters that are typed are no shortcuts
    expect(page.get_by_role("combobox", name="Queue")).to_have_value("jk?/")
    page.get_by_role("combobox", name="Queue").fill("")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next and previous row")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for key in "jjjjk":
        page.keyboard.press(key)
    expect(page.locator("tr.here")).to_contain_text(sorted(ids)[1][-12:])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/console/jobs/{sorted(ids)[1]}/")


def test_the_lists_need_no_mouse_and_name_their_parts(page: Page) -> None:
    JobFactory.create(state=State.DISCARDED, retry={"on_exhaustion": "dead_letter"})
    for path in ("/console/jobs/", "/console/dead-letter/", "/console/operations/new/?verb=retry"):
        page.goto(path)
        unnamed = page.evaluate(
            "[...document.querySelectorAll('main :is(input:not([type=hidden]), select, textarea,"
            " button, a, summary)')].filter(one => !(one.labels?.length || one.innerText.trim()"
            " || one.getAttribute('aria-label')) && one.checkVisibility()).map(o => o.outerHTML)"
        )
        assert unnamed == []
        tables = "[...document.querySelectorAll('main .scroll > table')]"
        assert page.evaluate(f"{tables}.every(one => one.caption && one.tHead)")
