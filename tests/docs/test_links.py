"""Links of all pages lead to files, pages and headings that exist."""

from pathlib import Path

import pytest

from manual import markdown, stage
from tests.conftest import ROOT

PAGES = [page.source for page in stage.pages()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = [
        link.target
        for link in markdown.links(page.read_text())
        if not stage.FOREIGN.match(link.target) and not leads_somewhere(page, link.target)
    ]

    assert broken == []


def leads_somewhere(page: Path, target: str) -> bool:
    """Return whether a file exists and, for a link to a heading, the heading."""
    path, _, anchor = target.partition("#")
    there = page.parent / path if path else page
    return there.exists() and (not anchor or anchor in markdown.anchors(there.read_text()))


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Making a release", "making-a-release"),
        ("`POST /jobs` & `GET /jobs`", "post-jobs--get-jobs"),
        ("3. Retries, and [limits](x.md)", "3-retries-and-limits"),
        ("ojs_job's rows", "ojs_jobs-rows"),
    ],
)
def test_the_anchor_of_a_heading_follows_the_rule_of_repositories(
    heading: str, anchor: str
) -> None:
    assert markdown.anchors(f"# {heading}\n") == {anchor}


def test_equal_headings_have_numbered_anchors() -> None:
    assert markdown.anchors("## Use\n\n## Use\n") == {"use", "use-1"}


def test_links_in_code_are_none() -> None:
    page = "[a](a.md) and `[b](b.md)`\n\n```text\n[c](c.md)\n```\n\n![d](d.webp)\n"

    assert [link.target for link in markdown.links(page)] == ["a.md", "d.webp"]
