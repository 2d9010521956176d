"""Each "yes" of the comparison names a test that proves it."""

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text()
ROW = re.compile(r"^\| (?!function |---)(.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
ROWS = [(name, ours) for name, ours, _ in ROW.findall(PAGE)]
PROVEN = re.compile(r"\[yes\]\(\.\./(tests/[\w/]+\.py)#(test_\w+)\)(?:: .+)?")


def test_each_row_has_a_cell_for_each_system() -> None:
    widths = {line.count("|") for line in PAGE.splitlines() if line.startswith("|")}

    assert len(ROWS) > 40
    assert widths == {7}


@pytest.mark.parametrize(("name", "ours"), ROWS, ids=[name for name, _ in ROWS])
def test_a_function_is_absent_or_proven_by_a_test(name: str, ours: str) -> None:
    if ours == "no":
        return
    found = PROVEN.fullmatch(ours)

    assert found, f"{name}: {ours}"
    assert f"\ndef {found[2]}(" in (ROOT / found[1]).read_text()
