"""The pages about security name tests, settings and pages that exist."""

import ast
import re
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.project.test_documentation import documented

POLICY = (ROOT / "SECURITY.md").read_text()
TABLE = (ROOT / "docs" / "security-asvs.md").read_text()
ROW = re.compile(
    r"^\| (\d+\.\d+\.\d+) \| (.+?) \| (holds|does not apply|open): (.+) \|$", re.MULTILINE
)
REQUIREMENTS = 253  # of levels 1 and 2 in version 5.0


@cache
def known_tests() -> frozenset[str]:
    """Return the names of all tests."""
    return frozenset(
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def test_the_table_has_every_requirement_once() -> None:
    numbers = [number for number, *_ in ROW.findall(TABLE)]

    assert len(numbers) == len(set(numbers)) == REQUIREMENTS
    assert len(re.findall(r"^\| \d", TABLE, re.MULTILINE)) == REQUIREMENTS, "a row is misspelled"


@pytest.mark.parametrize(("number", "verdict", "why"), [
    (number, verdict, why) for number, _, verdict, why in ROW.findall(TABLE)
])  # fmt: skip
def test_what_proves_a_requirement_is_there(number: str, verdict: str, why: str) -> None:
    named = re.findall(r"`(test_\w+)`", why)
    pages = re.findall(r"\]\(([\w./-]+\.md)", why)

    assert set(named) <= known_tests(), number
    assert verdict != "holds" or named or pages, "a test or a page proves it"


def test_the_secrets_that_the_policy_lists_are_settings() -> None:
    listed = POLICY.partition("## Secrets")[2].partition("\n## ")[0]
    variables = set(re.findall(r"`((?:OJS|DATABASE)_[A-Z_]+)`", listed))

    assert variables
    assert variables <= documented().keys()
