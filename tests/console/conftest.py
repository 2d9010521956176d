"""Operators and their browser."""

import functools
import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission, User
from django.test import Client
from django_q.models import OrmQ
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    sync_playwright,
)

from console.models import Operation
from tests.browser import VARIABLE

PASSWORD = "correct horse battery staple"  # noqa: S105 - a test's own
WAIT_MS = 20_000  # on a busy machine
SIZE: ViewportSize = {"width": 1280, "height": 720}

# Playwright's loop runs in this thread; the ORM is called between its steps, not within them
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@functools.cache
def hashed_password() -> str:
    """Return PASSWORD as it is stored: slow on purpose, so it is made once."""
    return make_password(PASSWORD)


@pytest.fixture
def operator(store: None) -> Iterator[User]:
    """Return a user who may do everything."""
    user = User.objects.create(
        username="operator", password=hashed_password(), is_staff=True, is_superuser=True
    )
    yield user
    User.objects.all().delete()  # and what they saved
    Operation.objects.all().delete()
    OrmQ.objects.all().delete()


@pytest.fixture
def viewer(operator: User) -> User:
    """Return a user who may only look."""
    user = User.objects.create(username="viewer", password=hashed_password())
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    return user


@pytest.fixture
def console(operator: User) -> Client:
    """Return a logged-in client."""
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the browser of the run: tests/plugin.py has found it."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ[VARIABLE],
            args=["--no-sandbox", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


def answer(page: Page, reason: str = "", button: str = "Go on") -> None:
    """Answer the question that a button asks."""
    dialog = page.get_by_role("dialog")
    if reason:
        dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=button).click()


def is_complaint(said: ConsoleMessage) -> bool:
    """Tell whether a page found something wrong with itself; an answer that failed is no such."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


def log_in(context: BrowserContext, server: str, user: User) -> None:
    """Give a browser a user's session; the form has tests of its own."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": server}])


@pytest.fixture(scope="session")
def tab(browser: Browser, server: str) -> Iterator[Page]:
    """Return the one tab that tests use one after another: a new one takes longer than most."""
    context = browser.new_context(base_url=server, viewport=SIZE)
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab: Page, server: str, operator: User) -> Iterator[Page]:
    """Return a tab on the overview, logged in; it fails the test when a page complains."""
    complaints: list[str] = []

    def complain(error: Exception) -> None:
        complaints.append(str(error))

    def listen(said: ConsoleMessage) -> None:
        if is_complaint(said):
            complaints.append(said.text)

    log_in(tab.context, server, operator)
    tab.on("pageerror", complain)
    tab.on("console", listen)
    tab.goto("/console/")
    yield tab
    _leave(tab)
    tab.remove_listener("pageerror", complain)
    tab.remove_listener("console", listen)
    _make_new(tab, server)
    assert not complaints


def _leave(tab: Page, tries: int = 5) -> None:
    """Show nothing, so that no page asks for anything any more."""
    try:
        tab.goto("about:blank")
    except Error:  # a page that was on its way came in between
        if not tries:
            raise
        _leave(tab, tries - 1)


def _make_new(tab: Page, server: str) -> None:
    """Let the next test come as a new visitor."""
    for other in tab.context.pages:
        if other is not tab:
            other.close()
    tab.context.clear_cookies()
    kept = {"origin": server, "storageTypes": "local_storage"}
    tab.context.new_cdp_session(tab).send("Storage.clearDataForOrigin", kept)
    tab.set_viewport_size(SIZE)
    tab.emulate_media(color_scheme="null")
    tab.unroute_all()
