"""The pages of schedules."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page

from scheduling.domain.definition import Definition
from scheduling.models import CronEntry
from scheduling.services.cron_declared import reconcile
from scheduling.services.cron_fire import fire
from tests.console.conftest import answer
from tests.console.test_pages import MOST_STATEMENTS, text, url
from tests.scheduling.conftest import NORTH, entry, make_due, registered

Shown = Callable[[], str]


def act(console: Client, verb: str, pk: object) -> str:
    """Send the form of a button; return the message of the next page."""
    answer = console.post(reverse("ojs_console:act", args=[verb]), {"id": pk})
    assert answer.status_code == 302
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def form(**fields: str) -> dict[str, str]:
    """Return a filled form."""
    template = orjson.dumps({"type": "mail.digest", "options": {"queue": "mail"}}).decode()
    return {
        "name": "digest", "expression": "@daily", "timezone": "Europe/Berlin", "overlap": "allow",
        "description": "", "template": template, **fields,
    }  # fmt: skip


def test_list_shows_schedules_with_their_latest_outcomes_at_a_fixed_cost(console: Client) -> None:
    registered("mine", NORTH)
    registered("off", enabled=False)
    for n in range(20):
        registered(f"n{n}")
    make_due()
    fire()
    make_due("n0")
    fire()

    with CaptureQueriesContext(connection) as captured:
        page = text(console, url("crons"))

    assert len(captured) <= MOST_STATEMENTS
    assert page.count("previous run was live") == 1
    assert page.count('badge available"') == 20
    assert 'badge paused"' in page
    assert "north" in page
    assert "never" in page


def test_list_by_name_and_page(console: Client) -> None:
    for n in range(60):
        registered(f"n{n:02}")

    page = console.get(url("crons"))
    assert [row.entry.name for row in page.context["rows"]] == [f"n{n:02}" for n in range(50)]
    following = console.get(url("crons", after=page.context["following"]))
    assert [row.entry.name for row in following.context["rows"]] == [f"n{n}" for n in range(50, 60)]
    assert len(console.get(url("crons") + "?name=7").context["rows"]) == 6
    assert "has “x&quot;” in its name" in text(console, url("crons") + "?name=x%22")


def test_detail_shows_ten_next_runs_in_both_zones_and_the_history(console: Client) -> None:
    registered(expression="0 9 * * *", timezone="Asia/Tokyo", description="Once a day.")
    make_due()
    fire()
    make_due()
    fire()

    page = text(console, url("cron", str(entry().pk)))

    assert page.count("09:00:00 JST") == 10
    assert page.count("00:00 UTC</time>") == 10
    assert page.count("data-local") == 10
    for word in (
        "At 09:00 every day",
        "Once a day.",
        "previous run was live",
        "available",
        "tests.cron",
    ):
        assert word in page


@pytest.mark.parametrize("name", ["cron", "cron_edit"])
def test_unknown_schedule_is_not_found(console: Client, name: str) -> None:
    assert console.get(url(name, "5")).status_code == 404


def test_buttons_run_pause_resume_and_delete(console: Client) -> None:
    registered("mine", NORTH)
    pk = entry("mine").pk

    assert "created job" in act(console, "cron-trigger", pk)
    assert "overlap_skip" in act(console, "cron-trigger", pk)
    assert "is paused" in act(console, "cron-pause", pk)
    assert not entry("mine").enabled
    assert "is resumed" in act(console, "cron-resume", pk)
    assert entry("mine").enabled
    assert "is deleted" in act(console, "cron-delete", pk)
    assert not CronEntry.objects.exists()
    assert "does not exist" in act(console, "cron-pause", pk)
    assert "does not exist" in act(console, "cron-pause", "x'")


def test_viewer_sees_schedules_and_changes_nothing(viewer: User) -> None:
    registered()
    client = Client()
    client.force_login(viewer)
    pk = str(entry().pk)

    for address in (url("crons"), url("cron", pk)):
        page = text(client, address)
        assert "Run now" not in page
        assert "Change" not in page
    assert client.get(url("cron_edit", pk)).status_code == 403
    assert client.post(url("cron_new"), form()).status_code == 403
    for verb in ("trigger", "pause", "resume", "delete"):
        answer = client.post(reverse("ojs_console:act", args=[f"cron-{verb}"]), {"id": pk})
        assert answer.status_code == 403
    assert entry().enabled


def test_form_makes_a_schedule(console: Client) -> None:
    answer = console.post(url("cron_new"), form())

    made = entry("digest")
    assert answer["Location"] == url("cron", str(made.pk))
    assert (made.timezone, made.overlap_policy, made.description) == (
        "Europe/Berlin",
        "allow",
        None,
    )
    assert made.template["options"] == {"queue": "mail"}


def test_form_changes_a_schedule_and_keeps_what_it_does_not_show(console: Client) -> None:
    registered("mine", NORTH, enabled=False, description="old")
    page = text(console, url("cron_edit", str(entry("mine").pk)))
    assert "old" in page

    console.post(url("cron_edit", str(entry("mine").pk)), form(expression="@hourly"))

    changed = entry("mine")
    assert (changed.tenant, changed.enabled, changed.expression) == ("north", False, "@hourly")
    assert changed.description is None
    assert CronEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "Bad"}, "Name must be"),
        ({"name": "taken"}, "Name is taken"),
        ({"expression": "0 0 31 2 *"}, "does not exist"),
        ({"timezone": "EST"}, "Timezone must be"),
        ({"overlap": "x"}, "must be one of"),
        ({"template": "{"}, "not valid JSON"),
        ({"template": "[]"}, "must be a JSON object"),
        ({"template": '{"type": "\\u0000"}'}, "U+0000"),
        ({"template": '{"args": []}'}, "Type is required"),
    ],
)
def test_form_says_what_is_wrong_and_keeps_what_was_typed(
    console: Client, fields: dict[str, str], problem: str
) -> None:
    registered("taken")

    answer = console.post(url("cron_new"), form(description="typed", **fields))

    page = answer.content.decode()
    assert answer.status_code == 400
    assert problem in page
    assert "typed" in page
    assert CronEntry.objects.count() == 1


def declared(name: str = "nightly") -> str:
    """Register a schedule as the code of a project does; return the id of its row."""
    template = {"type": "tests.cron", "args": [], "meta": {}, "options": {}}
    reconcile("shop", [Definition(name, "0 * * * *", template=template)])
    return str(entry(name).pk)


def test_the_source_of_a_schedule_is_shown(console: Client) -> None:
    registered("by-hand")
    pk = declared()

    listed = text(console, url("crons"))
    assert "code: shop" in listed
    assert "API or console" in listed
    page = text(console, url("cron", pk))
    assert "code of project shop" in page
    assert url("cron_edit", pk) not in page
    assert "cron-delete" not in page
    assert "cron-pause" in page
    assert url("cron_edit", str(entry("by-hand").pk)) in text(
        console, url("cron", str(entry("by-hand").pk))
    )


def test_a_schedule_in_code_can_be_paused_and_not_changed(console: Client) -> None:
    pk = declared()

    assert "is paused" in act(console, "cron-pause", pk)
    assert "defined in code by project shop" in act(console, "cron-delete", pk)
    answer = console.post(url("cron_edit", pk), form(expression="@hourly"))
    assert answer.status_code == 409
    assert "defined in code by project shop" in answer.content.decode()
    assert (entry().expression, entry().enabled) == ("0 * * * *", False)


def test_browser_runs_a_schedule_and_shows_its_times_in_the_browsers_zone(page: Page) -> None:
    registered(expression="0 9 * * *", timezone="Asia/Tokyo")

    page.goto(url("crons"))
    page.get_by_role("button", name="Run now").click()
    answer(page, "the night was skipped")
    page.get_by_text("created job").wait_for()
    page.get_by_role("link", name="nightly").click()
    page.get_by_role("heading", name="Next runs").wait_for()

    shown: Any = page.locator("time[data-local]").first
    assert "UTC" not in (shown.text_content() or "")
    assert shown.get_attribute("title")
