"""Tables and boxes on a small screen: no blank rows, no broken words, a cue at what is cut."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from jobs.domain.states import State
from jobs.models import Audit
from tests.console.conftest import SIZE
from tests.factories import JobFactory

# the lines of each word in the cells that wrap
BROKEN = """() => {
  const found = [];
  for (const cell of document.querySelectorAll("tbody :is(.wrap, .line)")) {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      for (const word of walk.currentNode.data.matchAll(/[\\w.]+/g)) {
        const range = document.createRange();
        range.setStart(walk.currentNode, word.index);
        range.setEnd(walk.currentNode, word.index + word[0].length);
        if (range.getClientRects().length > 1) found.push(word[0]);
      }
    }
  }
  return found;
}"""


@pytest.fixture
def narrow(page: Page) -> Iterator[Page]:
    """Return the tab with the width of a telephone."""
    page.set_viewport_size({"width": 390, "height": 844})
    yield page
    page.set_viewport_size(SIZE)


def test_words_of_cells_break_only_if_they_are_wider_than_a_cell(narrow: Page) -> None:
    Audit.objects.create(
        at=datetime.now(UTC), actor="console:ada", action="queue.config_changed",
        target="alert:queue_without_worker", reason="it floods and the provider asked for less",
        data={"default_retry.max_attempts": 5, "dead_letter_retention_of_all_jobs": "P30D"},
    )  # fmt: skip
    for width in (390, 1000, 1280):
        narrow.set_viewport_size({"width": width, "height": 844})
        narrow.goto("/console/audit/")
        expect(narrow.get_by_text("alert:queue_without_worker")).to_be_visible()
        assert not narrow.evaluate(BROKEN)
        assert narrow.evaluate("document.querySelector('tbody tr').offsetHeight") < 110


def test_jobs_show_their_ids(narrow: Page) -> None:
    JobFactory.create(state=State.AVAILABLE, queue="mail")
    narrow.goto("/console/jobs/")

    expect(narrow.locator("tbody th .id")).to_be_visible()


def test_boxes_that_scroll_have_a_cue_and_timelines_fit(narrow: Page) -> None:
    job = JobFactory.create(state=State.DISCARDED, queue="mail")
    narrow.goto("/console/queues/")
    box = narrow.locator("#live .scroll")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert "local" in box.evaluate("box => getComputedStyle(box).backgroundAttachment")

    narrow.goto(f"/console/jobs/{job.id}/")
    assert narrow.locator(".scroll:has(.gantt)").evaluate(
        "box => box.scrollWidth <= box.clientWidth"
    )
