"""The pages of regions in Chromium on a real server, as a person sees them."""

from playwright.sync_api import Page, expect

from console import operations
from console.models import Operation
from federation.models import ReplicationPeer
from federation.queries import note_minute
from jobs.models import Job as Row
from tests.console.conftest import WAIT_MS
from tests.federation.replication.lost import federate, lost
from tests.federation.replication.rig import replica, replicate

expect.set_options(timeout=WAIT_MS)


def test_jobs_of_a_region_that_is_down_are_adopted_from_the_overview_on(page: Page) -> None:
    federate(mode="full")
    lost()
    replicate(replica(bound_to="region"))
    note_minute("eu", 20.0)
    page.goto("/console/")

    page.get_by_role("link", name="Show region for eu").first.click()
    expect(page.locator("#region-eu .spark canvas")).to_be_visible()
    page.get_by_role("link", name="Adopt its jobs … eu").click()
    expect(page.get_by_text("1 job can be adopted")).to_be_visible()
    page.get_by_role("button", name="Adopt waiting jobs").click()
    assert "/adopt/" in page.url, "a reason is asked for"
    page.get_by_role("main").get_by_label("Reason").fill("eu burns")
    page.get_by_role("button", name="Adopt waiting jobs").click()
    page.wait_for_url("**/console/operations/*/")

    made = Operation.objects.get()
    operations.go_on(made.pk, 0)

    expect(page.get_by_text("1 pinned")).to_be_visible()  # without a reload
    expect(page.get_by_text("eu burns")).to_be_visible()
    assert Row.objects.count() == 1


def test_line_of_a_latency_stays_when_the_page_is_read_anew(page: Page) -> None:
    federate()
    note_minute("eu", 20.0)
    page.goto("/console/regions/")
    canvas = page.locator("#region-eu .spark canvas")
    expect(canvas).to_be_visible()
    page.evaluate("document.querySelector('#region-eu .spark').dataset.old = 'yes'")

    expect(page.locator("#region-eu .spark[data-old]")).to_have_count(0)

    expect(canvas).to_have_count(1)


def test_copies_of_a_region_that_is_gone_are_removed(page: Page) -> None:
    federate()
    ReplicationPeer.objects.create(region="mars")
    page.goto("/console/regions/")

    page.get_by_role("link", name="mars").click()
    page.get_by_role("main").get_by_label("Reason").fill("sold")
    page.get_by_role("button", name="Remove copies").click()
    page.wait_for_url("**/console/operations/*/")

    made = Operation.objects.get()
    operations.go_on(made.pk, 0)
    made.refresh_from_db()
    assert made.state == "done"
    assert not ReplicationPeer.objects.filter(region="mars").exists()
