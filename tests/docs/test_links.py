"""Links of all pages lead to files, pages and headings that exist."""

from pathlib import Path

import pytest

from docs.site import markdown, stage
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
    """Return whether the file exists, and the heading or function in it that the link names."""
    path, _, name = target.partition("#")
    there = page.parent / path if path else page
    if not there.exists() or not name:
        return there.exists()
    if there.suffix == ".py":
        return f"\ndef {name}(" in there.read_text()
    return name in markdown.anchors(there.read_text())


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


@pytest.mark.parametrize("target", ["away.md", "a.md#away", "#away", "a.py#test_away", "a.md#a-b"])
def test_a_link_without_its_target_is_found(target: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A, b\n\n## Here\n")
    (tmp_path / "a.py").write_text("\ndef test_here(): ...\n")

    assert leads_somewhere(tmp_path / "a.md", target) == (target == "a.md#a-b")
    assert leads_somewhere(tmp_path / "a.md", "a.py#test_here")
