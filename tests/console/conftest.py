"""Operators and their browser."""

import contextlib
import functools
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
)

from console.models import Operation
from tests.conftest import show_loop

PASSWORD = "correct horse battery staple"  # noqa: S105 - a test's own
WAIT_MS = 20_000  # on a busy machine
SIZE: ViewportSize = {"width": 1280, "height": 720}


@functools.cache
def hashed_password() -> str:
    """Return the hash of PASSWORD: hashing is slow on purpose, so it runs once."""
    return make_password(PASSWORD)


@pytest.fixture
def operator(store: None) -> Iterator[User]:
    """Return a superuser."""
    user = User.objects.create(
        username="operator", password=hashed_password(), is_staff=True, is_superuser=True
    )
    yield user
    User.objects.all().delete()  # and the views that they saved
    Operation.objects.all().delete()
    OrmQ.objects.all().delete()


@pytest.fixture
def viewer(operator: User) -> User:
    """Return a user with only the permission to view jobs."""
    user = User.objects.create(username="viewer", password=hashed_password())
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    return user


@pytest.fixture
def console(operator: User) -> Client:
    """Return a logged-in client."""
    client = Client()
    client.force_login(operator)
    return client


def answer(page: Page, reason: str = "", *, does: bool = True) -> None:
    """Fill in the dialog that a button opens, and confirm or dismiss it."""
    dialog = page.get_by_role("dialog")
    if reason:
        dialog.get_by_label("Reason").fill(reason)
    dialog.locator("button[value=yes]" if does else "button[value='']").click()


def is_complaint(said: ConsoleMessage) -> bool:
    """Return whether a console message is an error of the page; failed requests do not count."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


def log_in(context: BrowserContext, server: str, user: User) -> None:
    """Give a browser a user's session; the login form has its own tests."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": server}])


@pytest.fixture(scope="session")
def tab(browser: Browser, server: str) -> Iterator[Page]:
    """Return the one tab that all tests use in turn: a new tab takes longer than most tests."""
    context = browser.new_context(base_url=server, viewport=SIZE)
    context.set_default_timeout(WAIT_MS)
    tab = context.new_page()
    _leave(tab)
    yield tab
    show_loop()
    context.close()


@pytest.fixture
def page(visitor: Page) -> Page:
    """Return a logged-in tab on the overview; the test fails at any error of a page."""
    visitor.goto("/console/")
    return visitor


@pytest.fixture
def visitor(tab: Page, server: str, operator: User) -> Iterator[Page]:
    """Return a logged-in tab that shows no page of the console yet."""
    complaints: list[str] = []

    def complain(error: Exception) -> None:
        complaints.append(str(error))

    def listen(said: ConsoleMessage) -> None:
        if is_complaint(said):
            complaints.append(said.text)

    log_in(tab.context, server, operator)
    tab.on("pageerror", complain)
    tab.on("console", listen)
    yield tab
    _leave(tab)
    tab.remove_listener("pageerror", complain)
    tab.remove_listener("console", listen)
    _make_new(tab, server)
    assert not complaints


@pytest.fixture
def scriptless(browser: Browser, server: str, operator: User) -> Iterator[Page]:
    """Return a logged-in tab without scripts."""
    context = browser.new_context(base_url=server, java_script_enabled=False)
    log_in(context, server, operator)
    yield context.new_page()
    context.close()


def _leave(tab: Page, tries: int = 5) -> None:
    """Show a page without scripts, so that no page sends further requests.

    It comes from the server: for a page from elsewhere Chromium starts another process.
    """
    try:
        tab.goto("/livez")
    except Error:  # another navigation interrupted this one, perhaps the one of the last try
        if not tries:
            raise
        with contextlib.suppress(Error):
            tab.wait_for_load_state()
        _leave(tab, tries - 1)


def _make_new(tab: Page, server: str) -> None:
    """Reset the tab, so that the next test starts as a new visitor."""
    for other in tab.context.pages:
        if other is not tab:
            other.close()
    tab.context.clear_cookies()
    kept = {"origin": server, "storageTypes": "local_storage"}
    tab.context.new_cdp_session(tab).send("Storage.clearDataForOrigin", kept)
    tab.set_viewport_size(SIZE)
    tab.emulate_media(color_scheme="null")
    tab.unroute_all()
