"""Every action and every form of the console, pressed in Chromium by a superuser.

`make test` presses a part of them, and `test_audited.py` sends each without a browser.
"""

import re
from collections.abc import Iterator

import pytest
from django.urls import resolve
from playwright.sync_api import Page, Response, expect

from console.actions.table import ACTIONS
from jobs.models import Audit
from tests.console.conftest import WAIT_MS, answer
from tests.console.presses import ACTS, FORMS, REASON, Press
from tests.console.test_access import guarded, view_of
from tests.effort import of_each
from webhooks.models import Attempt, Delivery, Subscription

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(autouse=True)
def _without_webhooks(store: None) -> Iterator[None]:
    yield
    for table in (Attempt, Delivery, Subscription):
        table.objects.all().delete()


def test_every_action_has_its_place_among_those_that_are_pressed() -> None:
    assert set(ACTS) == set(ACTIONS)


def test_every_form_has_its_place_among_those_that_are_pressed() -> None:
    posted = {
        route.name
        for route in guarded()
        if "post" in view_of(route).http_method_names and hasattr(view_of(route), "post")
    }
    pressed_elsewhere = {"job_decode"}  # with a codec server: tests/encryption/test_codec_server
    assert set(FORMS) == posted - {"act"} - pressed_elsewhere


def pressed(page: Page, press: Press) -> Response:
    """Press a button, confirm its dialog, and return the server's response to the form."""
    page.goto(press.make())
    press.before(page)
    button = page.get_by_role("main").get_by_role("button", name=press.button, exact=True)
    if press.button in {"Show", "Set display"}:  # these buttons are in the frame of the page
        button = page.get_by_role("button", name=press.button, exact=True)
    with page.expect_response(lambda one: one.request.method == "POST") as said:
        button.first.click()
        if press.asks:
            hides = not page.get_by_role("dialog").get_by_label("Reason").is_visible()
            answer(page, "" if hides else REASON)
    return said.value


def path_of(said: Response) -> str:
    """Return the path that a form was sent to."""
    return re.sub(r"^https?://[^/]+", "", said.url)


@pytest.mark.parametrize("verb", of_each(ACTS))
def test_an_action_is_done_and_told_with_its_reason(visitor: Page, verb: str) -> None:
    said = pressed(visitor, ACTS[verb])

    assert path_of(said) == f"/console/actions/{verb}/"
    told = visitor.get_by_role("status").locator("li, h1")  # a message, or a secret
    expect(told.first).to_be_visible()
    assert "error" not in (told.first.get_attribute("class") or ""), told.first.inner_text()
    assert Audit.objects.filter(reason=REASON).exists() is ACTS[verb].is_audited


@pytest.mark.parametrize("name", of_each(FORMS))
def test_a_form_is_taken_with_its_reason(visitor: Page, name: str) -> None:
    said = pressed(visitor, FORMS[name])

    assert resolve(path_of(said).partition("?")[0]).url_name == name
    assert said.status < 400
    assert Audit.objects.filter(reason=REASON).exists() is FORMS[name].is_audited
