"""Routing rules and the removal of handlers in Chromium, as operators use them."""

import re

from playwright.sync_api import Page, expect

from jobs.models import Audit
from tests.console.conftest import WAIT_MS, answer
from tests.tenancy.wire import answer as answered
from tests.tenancy.wire import send
from tests.versioning.routing import get, put
from tests.versioning.services.test_future_producers import schedule
from tests.versioning.wire import TYPE, declares, push
from versioning.models import Routing

expect.set_options(timeout=WAIT_MS)


def test_rules_are_made_once_they_are_right(page: Page) -> None:
    page.goto("/console/versions/")
    page.get_by_role("link", name="New routing rules").click()
    page.get_by_label("Job type").fill(TYPE)
    page.get_by_label("Versions and weights").fill("2.0 10\n1.0 ninety")
    page.get_by_label("Raise the share of the highest").check()
    page.get_by_label("Steps, in percent").fill("5 50 100")
    page.get_by_role("button", name="Save", exact=True).click()

    rules = page.get_by_label("Versions and weights")
    expect(page.get_by_role("alert")).to_have_text(re.compile("Line 2: weight must be a number"))
    expect(rules).to_have_attribute("aria-invalid", "true")
    expect(rules).to_have_value("2.0 10\n1.0 ninety")
    expect(page.get_by_label("Steps, in percent")).to_have_value("5 50 100")
    assert not Routing.objects.exists()

    rules.fill("2.0 10\n1.0 90")
    page.get_by_role("textbox", name="Reason").fill("first try")  # not the field of the dialog
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("apply to every new job")
    expect(page.locator(".chips [aria-current]")).to_contain_text("5 %")
    assert Audit.objects.get(action="routing.changed").reason == "first try"


def test_rules_that_somebody_else_changed_are_replaced_and_removed(page: Page) -> None:
    put()
    page.goto(f"/console/versions/{TYPE}/")
    page.get_by_role("link", name="Change rules").click()
    page.get_by_label("Roll the highest version back").check()
    page.get_by_label("Error rate above").fill("0.2")
    put([{"version": "9.0", "weight": 1}], status=200)  # another operator was faster
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("9.0 100 %")
    expect(page.get_by_label("Error rate above")).to_have_value("0.2")
    page.get_by_label("with this input").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("apply to every new job")
    assert get()["auto_rollback"]["error_rate_threshold"] == 0.2

    page.get_by_role("button", name="Remove rules").click()
    answer(page, "tried enough")
    expect(page.get_by_role("status")).to_contain_text("are removed")
    assert not Routing.objects.exists()
    assert Audit.objects.get(action="routing.deleted").reason == "tried enough"


def test_the_assistant_follows_what_becomes_of_old_jobs(page: Page) -> None:
    declares("both", ">=1.0 <3.0")
    job = push("1.0")["id"]
    schedule("nightly", type=TYPE, version="1.0")
    page.goto(f"/console/versions/{TYPE}/")
    page.get_by_role("link", name="Check removal").click()
    first = page.get_by_role("region", name="Removal of 1.x")
    expect(first).to_contain_text("1 available job of 1.0 is left")
    expect(first).to_contain_text("1 schedule will send 1.0")
    page.evaluate("window.isSamePage = true")

    answered(send("DELETE", f"jobs/{job}"))
    answered(send("DELETE", "cron/nightly"))

    expect(first).not_to_contain_text("of 1.0 is left")
    expect(first).not_to_contain_text("will send")
    assert page.evaluate("window.isSamePage")
    page.get_by_label("Versions").fill("<9.0")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text("Safe to remove <9.0")
