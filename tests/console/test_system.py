"""The page of the system: loops and their leaders, the database, settings without secrets."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from console.system import MASK, settings, system
from jobs import queries
from jobs.loops import LoopRunner, all_loops
from jobs.models import LoopTick
from tests.console.conftest import WAIT_MS
from tests.console.test_pages import MOST_STATEMENTS, text, url
from tests.processes import until

expect.set_options(timeout=WAIT_MS)


def test_loops_have_their_leaders_and_are_marked_when_stuck(store: None) -> None:
    LoopTick.objects.all().delete()
    runner = LoopRunner([loop for loop in all_loops() if loop.name == "promote"])
    runner.start()
    try:
        until(lambda: bool(_loop("promote").pid), "a leader")
        until(lambda: not _loop("promote").is_stuck, "a turn")
    finally:
        runner.stop()
    assert _loop("reap").ticked_at is None

    LoopTick.objects.update(ticked_at=queries.ago(60_000))

    assert _loop("promote").is_stuck
    until(lambda: _loop("promote").pid is None, "nobody leads")


def _loop(name: str) -> Any:
    return next(one for one in system().loops if one.name == name)


def test_settings_are_shown_without_the_secrets_inside_them(settings: Any) -> None:
    settings.OJS = {**settings.OJS, "ENCRYPTION_KEYS": ("an-encryption-key",)}
    auth = {"kind": "bearer", "token_ref": "env:A_VARIABLE"}
    region = {"id": "eu", "url": "https://eu.example.org", "auth": auth}
    settings.OJS_FEDERATION = {"REGIONS": [region]}

    found = dict(system_settings())

    (shown,) = dict(found["federation"])["regions"]
    assert shown == {**region, "auth": {"kind": "bearer", "token_ref": MASK}}
    assert dict(found["jobs"])["encryption_keys"] == MASK


def test_settings_are_shown_without_secrets(settings: Any) -> None:
    settings.OJS_WEBHOOKS = {**settings.OJS_WEBHOOKS, "SECRET_KEY": "do not show me"}

    shown = {app: dict(chosen) for app, chosen in system_settings()}

    assert shown["webhooks"]["secret_key"] == MASK
    assert shown["jobs"]["api_key_cache_ms"] == 3000
    assert shown["jobs"]["apikey_hasher"] == "sha256"
    assert "do not show me" not in repr(shown)


system_settings = settings  # the fixture of the same name hides it in tests


def test_the_page_shows_the_database_at_a_fixed_cost(console: Client) -> None:
    with CaptureQueriesContext(connection) as captured:
        page = text(console, url("system"))

    assert len(captured) <= MOST_STATEMENTS
    assert '<th scope="row">ojs_' in page
    assert "This database has no replica" in page
    assert (
        connection.settings_dict["PASSWORD"] == ""
        or connection.settings_dict["PASSWORD"] not in page
    )


@pytest.mark.parametrize(("skew_ms", "is_told"), [(0, False), (5_000, True), (-5_000, True)])
def test_clocks_that_disagree_are_told(
    console: Client, monkeypatch: pytest.MonkeyPatch, skew_ms: int, is_told: bool
) -> None:
    found = system()
    changed = type(found)(**{
        **{name: getattr(found, name) for name in found.__dataclass_fields__}, "skew_ms": skew_ms,
    })  # fmt: skip
    monkeypatch.setattr("console.views.system.system", lambda: changed)

    assert ("The clock of this machine differs" in text(console, url("system"))) is is_told


def test_the_system_is_found_in_the_navigation(page: Page) -> None:
    page.get_by_text("More").click()
    page.get_by_role("link", name="System").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("System")
    expect(page.locator("#loops")).to_contain_text("promote")
    page.get_by_text("tenancy", exact=True).click()
    expect(page.locator("#settings-tenancy")).to_contain_text("missing")
