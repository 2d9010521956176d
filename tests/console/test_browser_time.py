"""Charts in the browser: ranges, the choice of a period by pointer and keys, zones, the pause."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Period
from jobs.services.operate.queues import pause
from jobs.services.record.aggregate import aggregate_events
from tests.concurrency import aggregate_all
from tests.factories import JobFactory, stored

IS_DRAWN = """kind => {
  const canvas = document.querySelector(`[data-chart=${kind}] canvas`);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value);
}"""


@pytest.fixture(autouse=True)
def _aggregates(store: None) -> None:
    aggregate_events(1)


def given(link: Locator) -> dict[str, str]:
    """Return the query of a link."""
    return dict(parse_qsl(urlsplit(link.get_attribute("href") or "").query))


def moment(text: str) -> datetime:
    """Read a time of a query, which is UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_a_drag_over_a_chart_leads_to_the_jobs_of_that_time(page: Page) -> None:
    job = JobFactory.create(state=State.COMPLETED, queue="mail", type="mail.send")
    pause("mail", Caller("ada"), "it floods")
    aggregate_all()
    page.goto("/console/types/mail.send/?range=15m")
    chart = page.locator("[data-chart=throughput]")
    page.wait_for_function(IS_DRAWN, arg="throughput")
    box = chart.locator(".u-over").bounding_box()
    assert box

    page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 40, steps=4)
    page.mouse.up()
    created, ended = chart.locator(".picked a").all()
    query = given(created)
    assert moment(query["until"]) - moment(query["since"]) == timedelta(minutes=7)
    assert query["type"] == "mail.send"
    assert given(ended) == {**query, "by": "ended"}
    created.click()
    page.wait_for_url("**/console/jobs/?*")
    expect(page.locator("#live tbody th a")).to_have_attribute("href", f"/console/jobs/{job.id}/")


def test_keys_read_a_chart_and_choose_a_period(page: Page) -> None:
    JobFactory.create(state=State.COMPLETED, queue="mail")
    aggregate_all()
    page.goto("/console/?range=24h")
    chart = page.locator("[data-chart=throughput]")
    plot = chart.locator(".plot")
    plot.focus()

    page.keyboard.press("End")
    expect(chart.locator("[data-ojs-said]")).to_contain_text("so far")
    expect(chart.locator("[data-ojs-said]")).to_contain_text("Completed 1")
    page.keyboard.press("Home")
    expect(chart.locator("[data-ojs-said]")).not_to_contain_text("so far")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")

    link = chart.get_by_role("link", name="Jobs created")
    expect(link).to_be_focused()
    query = given(link)
    assert moment(query["until"]) - moment(query["since"]) == timedelta(minutes=30)
    chart.get_by_role("button", name="Clear").click()
    expect(plot).to_be_focused()
    expect(link).to_be_hidden()
    page.get_by_role("link", name="7 d", exact=True).click()
    expect(page.get_by_role("heading", name="Jobs per hour")).to_be_visible()


@pytest.mark.parametrize("zone", ["UTC", ""])
def test_a_chart_reads_in_the_zone_of_the_page(page: Page, zone: str) -> None:
    """An hour is told in the chosen zone, a day in UTC."""
    at = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=30)
    for span_s, begin in ((3600, at), (86_400, at.replace(hour=0))):
        Period.objects.create(span_s=span_s, at=begin, queue="mail", type="a", enqueued=1_500_000)
    debugger = page.context.new_cdp_session(page)
    debugger.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    if zone:
        page.locator("#display [name=zone]").select_option(zone)
        page.get_by_role("button", name="Set display").click()
        expect(page.locator("html")).to_have_attribute("data-zone", zone)
    page.goto("/console/?range=7d")
    local = at if zone else at + timedelta(hours=5, minutes=30)
    chart = page.locator("[data-chart=throughput]")
    chart.locator(".plot").focus()
    page.keyboard.press("End")
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    expect(chart.locator("[data-ojs-said]")).to_contain_text(f"{local:%H:%M}\N{EN DASH}")
    expect(chart.locator("[data-ojs-said]")).to_contain_text("Enqueued 1.5 M")

    page.goto("/console/?range=90d")
    chart.locator(".plot").focus()
    page.keyboard.press("End")
    days = (datetime.now(UTC).date() - at.date()).days
    for _ in range(days):
        page.keyboard.press("ArrowLeft")
    expect(chart.locator("[data-ojs-said]")).to_contain_text(re.compile(rf"\b{at.day}\b.*\(UTC\)"))
    expect(chart.locator("[data-ojs-said]")).to_contain_text("Enqueued 1.5 M")
    debugger.detach()


def test_a_pause_holds_the_page_until_it_ends(page: Page) -> None:
    page.goto("/console/queues/")
    page.keyboard.press("p")
    resume = page.get_by_role("button", name="Resume updates")
    expect(resume).to_be_visible()
    page.reload()  # the pause is of the tab
    requests: list[str] = []
    page.on("requestfinished", lambda request: requests.append(urlsplit(request.url).path))
    stored(1, queue="late-queue")
    page.evaluate("turnNow()")  # what happens every four seconds
    assert "/console/queues/" not in requests

    resume.click()

    expect(page.get_by_text("late-queue")).to_be_visible()
    expect(page.get_by_role("button", name="Pause updates")).to_be_visible()
