"""The style guide: only with DEBUG, for users who are logged in, without violations."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page as BrowserPage

from console import pages, urls
from console.views.styleguide import BADGES, COLORS
from ojs_project.quickstart import ROOT
from tests.console.test_accessibility import inline, violations, widths

PATH = "/console/styleguide/"
STYLES = ROOT / "console" / "static" / "ojs"


@pytest.fixture
def routed() -> Iterator[None]:
    """Add the route, as a server with DEBUG does."""
    route = urls._route(pages.BY_NAME["styleguide"])
    urls.urlpatterns.insert(0, route)  # the list that the resolver has read
    yield
    urls.urlpatterns.remove(route)


@pytest.mark.parametrize("is_debug", [False, True])
def test_only_a_server_with_debug_has_the_route(is_debug: bool, settings: Any) -> None:
    settings.DEBUG = is_debug

    assert ("styleguide" in {page.name for page in pages.installed()}) is is_debug


@pytest.mark.django_db
def test_the_page_does_not_exist_without_debug(admin_client: Client) -> None:
    assert admin_client.get(PATH).status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("routed")
def test_it_needs_a_login(client: Client) -> None:
    assert client.get(PATH).status_code == 302


@pytest.fixture
def guide(page: BrowserPage, operator: User, routed: None) -> str:
    """Show the page in the browser; return its content security policy.

    The server of the tests has no DEBUG, so that the route exists only here.
    """
    client = Client()
    client.force_login(operator)
    answer = client.get(PATH)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    page.route(
        f"**{PATH}*",
        lambda route: route.fulfill(
            body=answer.content.decode(), content_type="text/html",
            headers={"Content-Security-Policy": policy},
        ),
    )  # fmt: skip
    page.goto(PATH)
    return policy


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_components_are_without_violations(
    page: BrowserPage, guide: str, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)

    assert [*violations(page), *inline(page, guide), *widths(page)] == []


@pytest.mark.usefixtures("guide")
def test_its_dialog_asks_for_a_reason(page: BrowserPage) -> None:
    page.locator("#dialogs").get_by_role("button", name="Pause").click()

    assert page.get_by_role("dialog").get_by_text("Pause queue mail?").is_visible()
    assert page.get_by_role("dialog").get_by_label("Reason").get_attribute("required") is not None


def test_it_names_every_colour_and_no_badge_without_one() -> None:
    text = (STYLES / "console.css").read_text() + (STYLES / "lists.css").read_text()
    defined = set(re.findall(r"^  --([a-z-]+): light-dark", text, re.MULTILINE))

    assert {name for name, _ in COLORS} == defined
    assert [word for word in BADGES if not re.search(rf"\.{word}[ ,]", text)] == []
