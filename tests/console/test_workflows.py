"""The pages of workflows."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page

from console.graph import ABREAST, COLUMNS, ROWS, WIDTH, Drawing, Node, draw
from jobs.domain.wire.ids import new_id
from tests.console.conftest import answer
from tests.workflows.flows import (
    batch,
    by_type,
    chain,
    claimed,
    complete,
    created,
    fail,
    graph,
    group,
    job,
    run,
    seen,
)
from workflows.services.show import show

LIST = "/console/workflows/"


def drawn(body: dict[str, Any]) -> Drawing:
    """Return the drawing of a new workflow."""
    return draw(show(created(body), with_results=False))


def boxes(drawing: Drawing) -> dict[str, Node]:
    """Return the boxes by label."""
    return {node.label: node for node in drawing.nodes}


@pytest.mark.usefixtures("store")
def test_a_step_stands_right_of_all_it_waits_for() -> None:
    found = boxes(drawn(graph(a="", b="", c="a", d="c b", e="d a")))

    columns = {label.removeprefix("flow."): node.x for label, node in found.items()}
    assert columns["a"] == columns["b"] < columns["c"] < columns["d"] < columns["e"]
    assert len({(node.x, node.y) for node in found.values()}) == 5


@pytest.mark.usefixtures("store")
def test_callbacks_stand_behind_the_jobs() -> None:
    found = boxes(drawn(batch(job("a"), job("b"), on_success=job("c"), on_failure=job("d"))))

    assert found["c"].x == found["d"].x > found["a"].x == found["b"].x
    assert "on_success" in found["c"].note


@pytest.mark.usefixtures("store")
def test_thousands_of_steps_are_gathered() -> None:
    flow = created(group(*[job() for _ in range(2000)]))
    jobs = claimed(count=5)
    fail(jobs[3])
    complete(jobs[4])

    drawing = draw(show(flow, with_results=False))

    assert len(drawing.nodes) == ROWS
    assert "failed" in {node.state for node in drawing.nodes}
    (gathered,) = [node for node in drawing.nodes if node.label == "1,991 more"]
    assert gathered.title == "1990 available, 1 completed"
    assert drawing.width < (ABREAST + 1) * WIDTH * 2


@pytest.mark.usefixtures("store")
def test_the_middle_of_a_long_chain_is_gathered() -> None:
    drawing = drawn(chain(*[job() for _ in range(500)]))

    assert len(drawing.nodes) == COLUMNS
    assert len(drawing.lines) == COLUMNS - 1
    assert len({node.y for node in drawing.nodes}) == 1
    assert boxes(drawing)["477 more"].title == "477 waiting"


@pytest.mark.usefixtures("store")
def test_a_fan_in_is_drawn_with_few_lines() -> None:
    before = {f"s{n}": "" for n in range(1000)}

    drawing = drawn(graph(**before, join=" ".join(before)))

    assert len(drawing.lines) == ROWS


def test_the_list_filters_and_pages(console: Client) -> None:
    done = created(chain(job(), name="finished one"))
    run()
    for _ in range(51):
        created(chain(job()))

    page = console.get(LIST, {"state": "completed"}).content.decode()
    first = console.get(LIST)
    second = console.get(f"{LIST}?{first.context['next_link']}")

    assert done in page
    assert "finished one" in page
    assert "unnamed chain" not in page
    assert (len(first.context["lines"]), len(second.context["lines"])) == (50, 2)
    assert second.context["next_link"] == ""
    assert "No workflow matches" in console.get(LIST, {"tenant": "x\0"}).content.decode()
    assert console.get(LIST, {"after": "x", "state": "y"}).status_code == 200


def test_a_workflow_is_shown_with_links_to_its_jobs(console: Client) -> None:
    flow = created(chain(job("a"), group(job("b")), job("<c>".strip("<>")), name="<i>name</i>"))
    jobs = by_type(claimed())
    complete(jobs["a"])
    inner = seen(flow)["steps"][1]

    page = console.get(f"{LIST}{flow}/").content.decode()

    assert f"/console/jobs/{jobs['a'].id}/" in page
    assert f"{LIST}{inner['workflow_id']}/" in page
    assert "&lt;i&gt;name&lt;/i&gt;" in page
    assert "Cancel" in page
    assert (
        "Cancel this workflow" not in console.get(f"{LIST}{inner['workflow_id']}/").content.decode()
    )
    assert f"{LIST}{flow}/" in console.get(f"/console/jobs/{jobs['a'].id}/").content.decode()


def test_callbacks_do_not_count_as_steps(console: Client) -> None:
    flow = created(batch(job("a"), job("b"), on_success=job("c"), on_failure=job("d")))
    run()

    page = re.sub(r"\s+", " ", console.get(f"{LIST}{flow}/").content.decode())

    assert "2 of 2 steps" in page
    assert "2 callbacks, not counted as steps" in page
    assert page.count('<span class="quiet">callback</span>') == 2
    assert re.search(r"From <time.*?</time> to <time.*?</time>, [0-9.]+ (ms|s)\b", page)


def test_an_error_is_shown_where_the_workflow_is(console: Client) -> None:
    flow = created(chain(job(), job()))
    fail(*claimed())

    assert "it broke" in console.get(f"{LIST}{flow}/").content.decode()


def test_unknown_workflows_have_no_page(console: Client) -> None:
    assert console.get(f"{LIST}{new_id()}/").status_code == 404
    assert console.get(f"{LIST}x/").status_code == 404


def test_the_page_takes_a_fixed_number_of_statements(console: Client) -> None:
    counts = set()
    for number in (3, 300):
        flow = created(chain(group(*[job() for _ in range(number)]), job()))
        with CaptureQueriesContext(connection) as captured:
            console.get(f"{LIST}{flow}/")
        counts.add(len(captured))

    assert len(counts) == 1


def test_cancelling_takes_the_permission(console: Client, viewer: User) -> None:
    flow = created(chain(job(), job()))
    looking = Client()
    looking.force_login(viewer)

    assert looking.post("/console/actions/cancel-workflow/", {"id": flow}).status_code == 403
    assert seen(flow)["state"] == "running"
    console.post("/console/actions/cancel-workflow/", {"id": flow})
    assert seen(flow)["state"] == "cancelled"


def test_in_the_browser_a_workflow_is_found_and_cancelled(page: Page) -> None:
    flow = created(chain(job("first.step"), group(job(), job()), job(), name="to be cancelled"))

    page.get_by_role("link", name="Workflows").click()
    page.get_by_role("link", name="to be cancelled").click()
    assert page.locator("svg.graph g").count() == 3
    page.get_by_role("button", name="Cancel").click()
    answer(page)
    page.get_by_text("The workflow is cancelled, with 4 steps").wait_for()

    assert seen(flow)["state"] == "cancelled"
