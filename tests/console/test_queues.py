"""The page of a queue: numbers, configuration, audit log, and its purge."""

from typing import Any

import pytest
from django.test import Client
from django_q.models import OrmQ
from playwright.sync_api import Page, expect

from console import purges
from jobs.domain.states import State
from jobs.models import Audit, Job, ObjectivePeriod, Queue
from jobs.queries import now
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import queue_removal
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import aggregate_all
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import text, url
from tests.factories import JobFactory, stored_ids

expect.set_options(timeout=WAIT_MS)
WAITING = ["available", "scheduled", "pending", "retryable"]


@pytest.fixture(autouse=True)
def _without_tasks(store: None) -> None:
    OrmQ.objects.all().delete()  # tasks of other tests


def run_purges() -> list[str]:
    """Run the queued tasks as the cluster does; return the result of each task."""
    told: list[str] = []
    while queued := OrmQ.objects.first():
        arguments = queued.task["args"]
        queued.delete()
        told.append(purges.go_on(*arguments))
    return told


def purge(client: Client, name: str, **form: Any) -> list[str]:
    """Request a purge; return the messages of the next page."""
    filled = {"id": name, "confirm": name, "states": WAITING, "reason": "a flood", **form}
    return messages_of(act(client, "purge", **filled))


def test_a_queue_shows_since_when_its_oldest_job_waits(console: Client) -> None:
    stored_ids(2, queue="mail")
    aggregate_all()

    listed = {row.name: since for row, since in console.get(url("queues")).context["rows"]}
    shown = console.get(url("queue", "mail")).context

    assert shown["since"] == listed["mail"] is not None
    assert shown["queue"].depth == 2
    assert console.get(url("queue", "unknown")).status_code == 404
    assert console.get("/console/queues/a%00b/").status_code == 400


def test_a_queue_shows_how_it_meets_its_objective(console: Client) -> None:
    stored_ids(1, queue="mail")
    assert "Objective" not in text(console, url("queue", "mail")).split("Configuration")[0]
    configure("mail", {"objective": {"start_within_ms": 30_000, "percent": 99.5}})
    assert "99.5 % of the jobs start within 30 s" in text(console, url("queue", "mail"))
    at = now().replace(minute=0, second=0, microsecond=0)
    for span_s, started, late in ((60, 1_000, 4), (3_600, 100_000, 600)):
        ObjectivePeriod.objects.create(
            span_s=span_s, at=now().replace(second=0, microsecond=0) if span_s == 60 else at,
            queue="mail", within_ms=30_000, started=started, late=late,
        )  # fmt: skip

    shown = console.get(url("queue", "mail")).context["objective"]

    assert (shown.budget_left, shown.is_overspent) == ("-20 %", True)
    rows = [(one.name, one.late, one.attainment, one.burn_rate, one.is_over) for one in shown.rows]
    assert rows == [
        ("1 hour", 4, "99.6 %", "0.8", False), ("6 hours", 4, "99.6 %", "0.8", False),
        ("3 days", 600, "99.4 %", "1.2", True), ("30 days", 600, "99.4 %", "1.2", True),
    ]  # fmt: skip


def test_a_configuration_is_stored_as_it_is_written(console: Client) -> None:
    stored_ids(1, queue="mail")
    first = '{"concurrency": 5, "rate_limit": {"limit": 100, "period": "PT1M"}}'

    console.post(url("queue", "mail"), {"config": first, "reason": "their API allows no more"})
    before = Queue.objects.get(name="mail").config
    console.post(url("queue", "mail"), {"config": '{"concurrency": 7}'})

    assert before["concurrency"] == 5
    assert before["rate_limit"]
    assert Queue.objects.get(name="mail").config == {"concurrency": 7}
    reasons = Audit.objects.filter(action="queue.config_changed").order_by("id")
    assert [one.reason for one in reasons] == ["their API allows no more", None]
    assert "queue.config_changed" in text(console, url("queue", "mail"))


@pytest.mark.parametrize(
    "wrong",
    ["", "[]", "{", '{"colour": "red"}', '{"concurrency": -1}', '{"concurrency": 1e400}', "x\x00",
     '{"concurrency": "\\u0000"}', "[" * 5000],
)  # fmt: skip
def test_a_wrong_configuration_is_told_and_kept_in_the_form(console: Client, wrong: str) -> None:
    stored_ids(1, queue="mail")

    answered = console.post(url("queue", "mail"), {"config": wrong})

    assert answered.status_code == 400
    assert answered.context["config"] == wrong
    assert Queue.objects.get(name="mail").config == {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"confirm": "mial"}, "does not match"), ({"confirm": ""}, "does not match"),
     ({"states": []}, "must be chosen"), ({"states": ["active"]}, "must be chosen")],
)  # fmt: skip
def test_a_purge_takes_the_name_and_states(
    console: Client, wrong: dict[str, Any], said: str
) -> None:
    stored_ids(1, queue="mail")

    assert said in purge(console, "mail", **wrong)[-1]
    assert not OrmQ.objects.exists()


def test_a_purge_of_an_unknown_queue_is_told(console: Client) -> None:
    assert "does not exist" in purge(console, "unknown")[-1]


def test_a_purge_takes_what_was_chosen_in_steps(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_removal, "MOST", 2)
    ended = JobFactory.create(state=State.DISCARDED, queue="mail")
    stored_ids(5, queue="mail")
    (other,) = stored_ids(1, queue="other")

    purge(console, "mail")
    done = run_purges()

    assert done[-1] == "5 jobs deleted"
    assert len(done) > 1
    assert set(map(str, Job.objects.values_list("id", flat=True))) == {ended.id, other}
    assert_state(State.AVAILABLE, other)
    started, entry = (
        Audit.objects.get(action=f"queue.{name}") for name in ("purge_started", "purged")
    )
    assert (entry.actor, entry.reason, entry.data["purged_count"]) == (
        "console:operator", "a flood", 5,
    )  # fmt: skip
    assert started.reason == "a flood"
    assert_store_is_sound()


def test_a_queue_is_paused_configured_and_purged_by_hand(page: Page) -> None:
    stored_ids(3, queue="mail")
    page.goto(url("queues"))
    page.get_by_role("link", name="mail").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    answer(page, "it floods")
    expect(page.locator("h1 .badge")).to_have_text("paused")
    assert Audit.objects.get(action="queue.paused").reason == "it floods"
    page.get_by_role("button", name="Resume", exact=True).click()
    answer(page)
    expect(page.locator("h1 .badge")).to_have_count(0)

    page.get_by_text("Edit as JSON").click()
    page.locator("#as-json textarea").fill('{"concurrency": 0.5}')
    page.get_by_role("button", name="Save JSON").click()
    expect(page.locator("#as-json").get_by_role("alert")).to_contain_text("concurrency")
    form = page.locator("#configuration > form")
    form.get_by_label("Maximum active jobs").fill("half")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_label("Maximum active jobs")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Maximum active jobs").fill("3")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("is saved")
    expect(form.get_by_label("Maximum active jobs")).to_have_value("3")

    page.get_by_role("link", name="Purge or delete").click()
    form = page.locator("#purge")
    form.get_by_label("Type the name").fill("mail")
    form.get_by_label("Reason").fill("a flood")
    form.get_by_role("button", name="Purge mail").click()
    expect(page.get_by_role("status")).to_contain_text("has started")
    assert run_purges()[-1] == "3 jobs deleted"
    expect(page.locator("a.tile.available strong")).to_have_text("0")
