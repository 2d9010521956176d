"""Each "yes" of the comparisons names a test that proves it."""

import re

import pytest

from tests.conftest import ROOT

# pages, and the number of systems on each
PAGES = {"comparison.md": 5, "console-comparison.md": 7}
ROW = re.compile(r"^\| (?!function |---)(.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEXTS = {page: (ROOT / "docs" / page).read_text() for page in PAGES}
ROWS = [(name, ours) for text in TEXTS.values() for name, ours, _ in ROW.findall(text)]
PROVEN = re.compile(r"\[yes\]\(\.\./(tests/[\w/]+\.py)#(test_\w+)\)(?:: .+)?")


@pytest.mark.parametrize(("page", "systems"), PAGES.items())
def test_each_row_has_a_cell_for_each_system(page: str, systems: int) -> None:
    widths = {line.count("|") for line in TEXTS[page].splitlines() if line.startswith("|")}

    assert len(ROWS) > 60
    assert widths == {systems + 2}


@pytest.mark.parametrize(("name", "ours"), ROWS, ids=[name for name, _ in ROWS])
def test_a_function_is_absent_or_proven_by_a_test(name: str, ours: str) -> None:
    if ours == "no":
        return
    found = PROVEN.fullmatch(ours)

    assert found, f"{name}: {ours}"
    assert f"\ndef {found[2]}(" in (ROOT / found[1]).read_text()
