"""The console of a running demo, followed link by link in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.urls import resolve
from playwright.sync_api import Browser, Page

from tests.console.conftest import WAIT_MS, is_complaint
from tests.processes import until
from tests.project.conftest import Quickstart, Start, new_folder, start

__all__ = ["new_folder", "start"]  # fixtures of the tests that start quickstart

# one module, one process, as in the tests of quickstart
pytestmark = pytest.mark.xdist_group("quickstart")

# pages that a demo links to by chance or never
WITHOUT_A_LINK = {
    "operation", "operation_file", "simulated", "delivery", "schema", "versions_of_type", "pool",
    "pool_edit", "cron_edit", "job_retry",
}  # fmt: skip
# links of a drawing have a href of another type
LINKS = "links => [...new Set(links.map(one => one.getAttribute('href').split('#')[0]))]"


@pytest.fixture(scope="module")
def demo(start: Start, new_folder: Callable[[], Path]) -> Quickstart:
    """Return a demo at its first start."""
    return start(new_folder(), "--demo").wait_for_greeting()


@pytest.fixture
def tab(browser: Browser, demo: Quickstart) -> Iterator[Page]:
    """Return a tab with the login of the first start; no page may report an error."""
    context = browser.new_context(base_url=demo.url)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
    name, password = demo.said("login").split(" / ")
    page.goto("/console/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/console/")
    yield page
    context.close()
    assert not complaints


@pytest.mark.long
def test_every_link_of_a_demo_leads_to_a_page_that_fits(tab: Page) -> None:
    def has_dead_jobs() -> bool:
        tab.goto("/console/dead-letter/")
        return tab.locator("#live tbody tr").count() > 0

    until(has_dead_jobs, "a dead job")
    seen: set[str] = set()
    waiting = ["/console/"]
    while waiting:
        path = waiting.pop(0)
        name = resolve(urlsplit(path).path).url_name
        if name is None or name in seen:
            continue
        seen.add(name)
        answer = tab.goto(path)
        assert answer
        assert answer.ok, f"{path}: {answer.status}"
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        found = tab.locator("a[href]:visible, .more a").evaluate_all(LINKS)
        waiting += [one for one in found if one.startswith("/console/")]
    assert seen | WITHOUT_A_LINK >= {
        "overview", "jobs", "job", "job_retry", "job_clone", "queues", "queue", "dead_letter",
        "operations", "operation_new", "events", "limits", "workers", "worker", "audit",
        "api_keys", "system", "regions", "region_jobs", "simulate", "crons", "cron", "cron_new",
        "pools", "pool_new", "tenants", "tenant", "tenant_edit", "tenant_new", "versions",
        "schemas", "webhooks", "workflows", "attention", "attention_rules", "attention_rule",
    }  # fmt: skip
