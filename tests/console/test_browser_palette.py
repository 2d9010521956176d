"""The palette and the suggestions in the browser: keys, actions, and names with HTML."""

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Audit, Queue
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_accessibility import violations
from tests.console.test_palette import ADA, of_each_kind
from tests.factories import stored_ids

expect.set_options(timeout=WAIT_MS)
SIZES = ((390, 844), (1440, 900))


def search(page: Page, text: str) -> None:
    """Open the palette and type."""
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.type(text)
    expect(page.locator("#palette [role=status]")).to_contain_text("result")


def test_a_queue_is_paused_by_keys_with_its_question_and_reason(page: Page) -> None:
    stored_ids(1, queue="mail")
    page.goto("/console/jobs/?state=available")

    search(page, "pause mail")
    expect(page.locator("#palette").get_by_role("option", selected=True)).to_contain_text(
        "Pause queue mail"
    )
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_contain_text("Pause this queue?")
    expect(dialog.locator("#ask-target")).to_have_text("mail")
    answer(page, "it floods")

    expect(page.get_by_role("status").locator("li")).to_contain_text("Queue mail is paused")
    assert page.url.endswith("/console/jobs/?state=available")
    assert Queue.objects.get(name="mail").paused_at
    assert Audit.objects.filter(action="queue.paused", reason="it floods").count() == 1


def test_an_action_of_a_schedule_and_of_a_tenant_names_its_object(page: Page) -> None:
    of_each_kind("mail")

    search(page, "run mail")
    expect(page.locator("#palette").get_by_role("option", selected=True)).to_contain_text(
        "Run schedule mail-schedule now"
    )
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Run now mail-schedule?")
    answer(page, does=False)

    search(page, "suspend mail")
    page.keyboard.press("Enter")
    reason = page.get_by_role("dialog").get_by_label("Reason")
    expect(page.locator("#ask-target")).to_have_text("mail-tenant")
    expect(reason).to_have_js_property("required", value=True)


def test_a_text_with_spaces_is_searched_in_arguments_only(page: Page) -> None:
    search(page, "answered 504")

    expect(page.locator("#palette").get_by_role("option")).to_have_count(1)
    expect(page.locator("#palette").get_by_role("option")).to_contain_text("arguments contain")


def test_arrows_choose_a_result_and_escape_closes(page: Page) -> None:
    of_each_kind("mail")
    search(page, "mail")
    field = page.get_by_role("combobox", name="Go to")
    expect(page.locator("#palette").get_by_role("option", selected=True)).to_contain_text(
        "mail-queue"
    )

    page.keyboard.press("ArrowDown")
    chosen = page.locator("#palette").get_by_role("option", selected=True)
    expect(chosen).to_contain_text("mail.send")
    assert field.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#palette").get_by_role("option", selected=True)).to_contain_text(
        "Search jobs whose arguments contain “mail”"
    )
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()

    search(page, "mail-worker")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/workers/mail-worker/")


def test_the_last_result_searches_the_arguments(page: Page) -> None:
    stored_ids(1, args=["invoice-42"])
    search(page, "invoice-42")
    page.locator("#palette").get_by_role("option", name="Search jobs whose arguments").click()

    page.wait_for_url("**/console/jobs/?args=invoice-42")
    expect(page.locator("#live tbody tr")).to_have_count(1)


def test_a_result_with_html_is_text(page: Page) -> None:
    heartbeat(Report("mail<img src=x onerror=alert(1)>", queues=("a",), concurrency=1))
    search(page, "mail<img")

    expect(page.locator("#palette b").first).to_have_text("mail<img src=x onerror=alert(1)>")
    assert page.locator("#palette img").count() == 0


def test_a_late_answer_never_replaces_a_newer_one(page: Page) -> None:
    for name in ("mail", "other"):
        stored_ids(1, queue=name)
    page.keyboard.press("Control+k")
    page.keyboard.type("mail")
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.keyboard.type("other")

    expect(
        page.locator("#palette").get_by_role("option").filter(has_text="Queue other").first
    ).to_be_visible()
    assert page.locator("#palette").get_by_role("option").filter(has_text="mail").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_open_palette_is_for_everybody(page: Page, scheme: str) -> None:
    of_each_kind("mail" + "x" * 40)
    pause("mail" + "x" * 40 + "-queue", ADA)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto("/console/jobs/")
        search(page, "mail")

        assert not violations(page)
        box = page.locator("#palette").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        commands = page.locator("#commands")
        assert commands.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_filters_suggest_while_the_user_types(page: Page) -> None:
    for name in ("mail-a", "mail-b", "other"):
        stored_ids(1, queue=name)
    page.goto("/console/jobs/")
    page.get_by_role("combobox", name="Queue").fill("mail")

    options = page.locator("#some-queue option")
    expect(options).to_have_count(2)
    assert [one.get_attribute("value") for one in options.all()] == ["mail-a", "mail-b"]


def test_without_scripts_there_is_no_button_without_effect(scriptless: Page) -> None:
    stored_ids(1, queue="mail")
    scriptless.goto("/console/jobs/?queue=mail")

    expect(scriptless.locator("#palette-open")).to_be_hidden()
    expect(scriptless.locator("#live tbody tr")).to_have_count(1)
