"""The page that requests simulations, and the page that shows a simulation."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_q.models import OrmQ, Task
from django_q.signing import SignedPackage
from playwright.sync_api import Page, expect

from console import simulations
from console.views.simulate import EXAMPLE_CHANGES, EXAMPLE_SCENARIO
from jobs.models import Audit
from tests.console.test_pages import text, url

SCENARIO = """
duration: 20s
workers: [{pool: p, slots: 2}]
jobs:
  - {queue: alpha, arrivals: {burst: 60}, runs: 1s}
  - {queue: beta, tenant: blue, arrivals: {burst: 60}, runs: 1s}
pools: {p: {queues: [alpha, beta]}}
"""
CHANGES = "pools: {p: {queues: {alpha: 3, beta: 1}, strategy: weighted}}"

# whether the first chart has pixels in the legend's colour of one side
IS_DRAWN = """side => {
  const figure = document.querySelector(".compared");
  const key = figure.querySelector(`.key.${side}`);
  const rgb = getComputedStyle(key, "::before").backgroundColor.match(/\\d+/g).map(Number);
  const canvas = figure.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (let n = 0; n < pixels.length; n += 4) {
    if (rgb.every((value, c) => value === pixels[n + c]) && pixels[n + 3] === 255) return true;
  }
  return false;
}"""


@pytest.fixture(autouse=True)
def no_tasks(store: None) -> Any:
    """Remove all tasks after the test."""
    yield
    OrmQ.objects.all().delete()
    Task.objects.all().delete()


def asked(console: Client, **fields: str) -> str:
    """Request a simulation; return the path of its page."""
    answer = console.post(url("simulate"), {"minutes": "60", **fields})
    assert answer.status_code == 302, answer.content
    return str(answer.headers["Location"])


def perform() -> None:
    """Run the waiting tasks as the cluster does."""
    for queued in OrmQ.objects.all():
        task = SignedPackage.loads(queued.payload)
        if task["func"] != "console.simulations.run":
            continue
        Task.objects.create(
            id=task["id"], name=task["name"], func=task["func"], args=task["args"],
            kwargs=task["kwargs"], group=task["group"], result=simulations.run(*task["args"]),
            started=task["started"], stopped=task["started"], success=True,
        )  # fmt: skip
        queued.delete()


def test_a_scenario_is_simulated_and_compared(console: Client) -> None:
    page = asked(console, scenario=SCENARIO, changes=CHANGES)
    assert "waiting for the operator task cluster" in text(console, page)

    perform()

    shown = text(console, page)
    assert shown.count("data-ojs-compared") == 4
    assert 'class="key before"' in shown
    assert 'class="key after"' in shown
    for name in ("alpha", "beta", "blue", "no tenant"):
        assert name in shown
    assert Audit.objects.get(action="scheduling.simulated").actor == "console:operator"
    assert page in text(console, url("simulate"))
    again = text(console, f"{url('simulate')}?like={page.rstrip('/').rpartition('/')[2]}")
    assert "strategy: weighted" in again


def test_without_changes_nothing_is_compared(console: Client) -> None:
    page = asked(console, scenario=SCENARIO)
    perform()

    assert 'class="key after"' not in text(console, page)


def test_what_is_wrong_with_the_form_is_told_and_nothing_is_queued(console: Client) -> None:
    for fields, problem in (
        ({"changes": "pools: {p: {queues: [a], strategy: best}}"}, "changes.pools.p.strategy must"),
        ({"minutes": "soon"}, "minutes must be a number"),
        ({"scenario": "jobs: ["}, "scenario is not valid YAML"),
    ):
        answer = console.post(url("simulate"), {"minutes": "60", **fields})
        assert answer.status_code == 400
        assert problem in answer.content.decode().replace("Minutes", "minutes").replace(
            "Changes", "changes"
        ).replace("Scenario is", "scenario is")
    assert not OrmQ.objects.exists()
    assert not Audit.objects.exists()


def test_what_turns_out_to_be_wrong_later_is_told(console: Client) -> None:
    page = asked(console, minutes="5")
    perform()

    assert "Minutes hold no job" in text(console, page)


def test_a_simulation_that_failed_says_so(console: Client) -> None:
    page = asked(console, scenario=SCENARIO)
    perform()
    Task.objects.update(success=False, result="Traceback")

    assert "The simulation failed" in text(console, page)


def test_only_who_may_change_pools_may_start_one(viewer: User, client: Client) -> None:
    client.force_login(viewer)

    assert "<textarea" not in text(client, url("simulate"))
    assert client.post(url("simulate"), {"scenario": SCENARIO}).status_code == 403
    assert not OrmQ.objects.exists()


def test_one_that_is_not_there_is_not_found(console: Client) -> None:
    for key in ("none", "a" * 200):
        assert console.get(reverse("ojs_console:simulated", args=[key])).status_code == 404


def test_the_examples_of_the_page_work(console: Client) -> None:
    page = asked(console, scenario=EXAMPLE_SCENARIO, changes=EXAMPLE_CHANGES)
    perform()

    assert "data-ojs-compared" in text(console, page)


def test_a_simulation_is_asked_for_and_seen_in_a_browser(page: Page) -> None:
    page.goto("/console/pools/")
    page.get_by_role("link", name="Simulate changes").click()
    page.get_by_label("Or a scenario").fill(SCENARIO)
    page.get_by_label("Changes").fill(CHANGES)
    page.get_by_role("button", name="Simulate").click()
    page.wait_for_url(re.compile(r"/console/simulate/.+/"))
    expect(page.get_by_role("progressbar")).to_be_visible()

    perform()

    charts = page.locator(".compared")
    expect(charts.locator("canvas")).to_have_count(4)
    assert page.locator(".compared .plot").first.evaluate(
        "plot => plot.clientHeight === plot.querySelector('.uplot').clientHeight"
    )  # the layout did not move when the chart was drawn
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for side in ("before", "after"):
            expect(charts.first.locator(f".key.{side}")).to_have_text(side)
            page.wait_for_function(IS_DRAWN, arg=side)  # charts are redrawn a moment later
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    box = charts.first.locator(".u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    expect(charts.first.locator(".tip")).to_contain_text("alpha · before")
