"""The density and the time zone that a user chooses, with and without scripts."""

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from console.display import COOKIES, Display, read_display
from tests.console.conftest import WAIT_MS
from tests.console.test_accessibility import violations
from tests.factories import stored_ids

expect.set_options(timeout=WAIT_MS)
PATH = reverse("ojs_console:display")
JOBS = reverse("ojs_console:jobs")


def test_the_server_applies_what_was_chosen(console: Client) -> None:
    assert '<html lang="en">' in console.get(JOBS).content.decode()

    answer = console.post(PATH, {"density": "compact", "zone": "UTC", "next": f"{JOBS}?queue=a"})

    assert answer["Location"] == f"{JOBS}?queue=a"
    assert answer.cookies[COOKIES["density"]]["httponly"]
    shown = console.get(JOBS).content.decode()
    assert '<html lang="en" data-density="compact" data-zone="UTC">' in shown
    assert '<option value="compact" selected>' in shown
    console.post(PATH, {"density": "", "zone": ""})
    assert '<html lang="en">' in console.get(JOBS).content.decode()


@pytest.mark.parametrize("form", [{"density": "huge"}, {"zone": "\x00"}, {"zone": "x" * 10_000}])
def test_an_unknown_value_is_refused_by_its_field(console: Client, form: dict[str, str]) -> None:
    answer = console.post(PATH, form, follow=True)

    (field,) = form
    assert f"{field.capitalize()} must be one of the offered values" in answer.content.decode()
    assert not any(cookie in console.cookies for cookie in COOKIES.values())


def test_an_unknown_cookie_changes_nothing() -> None:
    assert read_display({"ojs_density": '"><script>', "ojs_zone": "Europe/Berlin"}) == Display()


def test_the_choice_leads_to_no_other_site(console: Client) -> None:
    answer = console.post(PATH, {"next": "https://evil.example.org/"})

    assert answer["Location"] == reverse("ojs_console:overview")


def test_the_density_is_chosen_without_scripts(scriptless: Page) -> None:
    stored_ids(3)
    scriptless.goto(JOBS)
    row = scriptless.locator("#live tbody tr").first
    box = row.bounding_box()
    assert box

    scriptless.get_by_label("Density").select_option("compact")
    scriptless.get_by_role("button", name="Set display").click()

    expect(scriptless.locator("html")).to_have_attribute("data-density", "compact")
    smaller = row.bounding_box()
    assert smaller
    assert smaller["height"] < box["height"]


@pytest.mark.parametrize("width", [390, 1440])
def test_compact_pages_are_for_everybody(page: Page, width: int) -> None:
    stored_ids(3)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(JOBS)
    page.keyboard.press("Control+k")
    page.keyboard.type("density compact")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-density", "compact")

    for path in (JOBS, "/console/", "/console/queues/"):
        page.goto(path)
        assert not violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
