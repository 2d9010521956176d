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
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from console.models import Operation

PASSWORD = "correct horse battery staple"  # noqa: S105 - a test's own
CHROMIUM = "/usr/bin/chromium"
WAIT_MS = 20_000  # on a busy machine

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
    """Return a Chromium for the run."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
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


@pytest.fixture
def page(browser: Browser, server: str, operator: User) -> Iterator[Page]:
    """Return a tab on the overview, logged in; it fails the test when a page complains."""
    context = browser.new_context(base_url=server)
    context.set_default_timeout(WAIT_MS)
    log_in(context, server, operator)
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
    tab.goto("/console/")
    yield tab
    context.close()
    assert not complaints
