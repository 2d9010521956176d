"""The glossary has one entry for each term of the domain, and links to it lead to entries."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENTRY = re.compile(r"^## (.+)$", re.MULTILINE)
TERM = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
LINK = re.compile(r"\]\((?:[\w./-]*glossary\.md)#([^)]+)\)")
OWN_LINK = re.compile(r"\]\(#([^)]+)\)")


def entries() -> list[str]:
    """Return the terms of the glossary in the order of the page."""
    return ENTRY.findall(GLOSSARY.read_text())


def anchor(term: str) -> str:
    """Return the anchor of a heading."""
    return term.lower().replace(" ", "-")


def terms(page: Path) -> set[str]:
    """Return the terms that are bold on a page."""
    return {" ".join(term.lower().split()) for term in TERM.findall(page.read_text())}


def test_entries_are_unique_and_alphabetical() -> None:
    found = entries()

    assert found
    assert found == sorted(set(found))


def test_each_term_of_the_architecture_has_an_entry() -> None:
    found = terms(ROOT / "docs" / "architecture.md")

    assert found
    assert found <= set(entries())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_the_glossary_lead_to_an_entry(page: Path) -> None:
    known = {anchor(term) for term in entries()}
    text = page.read_text()

    assert set(LINK.findall(text)) <= known
    if page == GLOSSARY:
        assert set(OWN_LINK.findall(text)) <= known
