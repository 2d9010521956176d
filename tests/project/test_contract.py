"""References to the contract name sections that exist."""

import re
from pathlib import Path

from tests import spec
from tests.conftest import ROOT
from tests.project.test_rules import tracked

CONTRACT = ROOT / "docs" / "contract"
# "contract 23.6, 31", "contract 3.4 and 9.1"
REFERENCE = re.compile(r"\bcontract\s+(\d+(?:\.\d+)?(?:(?:,| and|;)\s+\d+(?:\.\d+)?)*)", re.I)
DECISION = re.compile(r"\b(?:contract|decision|disagreement)\s+(D\d+)\b", re.I)
HEADING = re.compile(r"^## (?:\d+\.)?(\d+)[. ]", re.MULTILINE)
# sources of releases are data
FOREIGN = ROOT / "tests" / "upgrade" / "data"


def sections() -> set[str]:
    """Return "23" for each page and "23.6" for each of its sections."""
    found = set()
    for page in CONTRACT.glob("[0-9]*.md"):
        number = str(int(page.name[:2]))
        found |= {number, *(f"{number}.{one}" for one in HEADING.findall(page.read_text()))}
    return found


def references() -> list[tuple[str, str]]:
    """Return each reference with its file."""
    return [
        (str(path.relative_to(ROOT)), number)
        for path in tracked()
        if not path.is_relative_to(FOREIGN) and path != Path(__file__)
        for numbers in REFERENCE.findall(path.read_text(errors="replace"))
        for number in re.findall(r"\d+(?:\.\d+)?", numbers)
    ]


def test_each_reference_resolves() -> None:
    there = sections()
    found = references()

    assert len(found) > 500
    assert [one for one in found if one[1] not in there] == []


def test_each_decision_that_is_cited_is_one_of_the_contract() -> None:
    pages = "\n".join(page.read_text() for page in CONTRACT.glob("*.md"))
    cited = {
        (str(path.relative_to(ROOT)), name)
        for path in tracked()
        if not path.is_relative_to(FOREIGN)
        for name in DECISION.findall(path.read_text(errors="replace"))
    }

    assert cited
    assert [one for one in sorted(cited) if f"**{one[1]}.**" not in pages] == []


SECTION = re.compile(
    r"(?:core|fair-scheduling|multi-tenancy|job-versioning|federation) \d+(?:\.\d+)?"
)
# operations of the admin API by the numbers of the specifications
OPERATION = re.compile(r"(?:FS|MT|VER|ADM|DLQ)-R?00\d")
# rows that summarize other rows, or that bind handlers instead of the server
SUMS = {"FS-12-a", "MT-12-a", "VER-12-a", "MT-7.2-b"}
LEVEL = re.compile(r"(M|S)\b")


def test_each_mark_of_a_test_names_a_statement() -> None:
    there = set(spec.statements())
    there |= {re.sub(r"-[a-z]$", "", name) for name in there}
    named = spec.tests()

    assert sum(map(len, named.values())) > 1500
    assert [
        name
        for name in sorted(named)
        if name not in there and not SECTION.fullmatch(name) and not OPERATION.fullmatch(name)
    ] == []


def test_each_requirement_and_recommendation_has_a_test() -> None:
    named = spec.tests()
    covered = named.keys() | {re.sub(r"-[a-z]$", "", name) for name in named}

    assert [
        name
        for name, text in spec.statements().items()
        if LEVEL.match(text) and name not in covered | SUMS
    ] == []
