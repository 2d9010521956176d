"""Marks for the statements of the specifications that a test proves: `@spec("FS-9.1-a")`.

An argument is the id of a row in the contract's tables (docs/contract/), a section of the contract
such as `contract 9.3`, or a section of a specification such as `fair-scheduling 9.1`.

`python -m tests.spec` prints the table: statement, its text, its tests. `--untested` prints the
statements of the contract's tables that no test names.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., object])

ROOT: Final = Path(__file__).resolve().parent.parent
CONTRACT: Final = ROOT / "docs" / "contract"
ID: Final = r"(?:D-)?[A-Z]{2,4}-R?\d+(?:\.\d+)?(?:-[a-z])?"
ROW: Final = re.compile(rf"^\| ({ID}) \| (.+?) \|$", re.MULTILINE)
HEADING: Final = re.compile(r"^## (?:\d+\.)?(\d+)[. ]+(.*)$", re.MULTILINE)
TITLE: Final = re.compile(r"^# (.*)$", re.MULTILINE)


def spec(*statements: str) -> Callable[[T], T]:
    """Mark a test with the ids of the statements that it proves."""
    return pytest.mark.spec(*statements)


def statements() -> dict[str, str]:
    """Return the text of each statement: rows of the contract's tables, its sections, its pages."""
    found: dict[str, str] = {}
    for page in sorted(CONTRACT.glob("[0-9]*.md")):
        text, number = page.read_text(), int(page.name[:2])
        found |= {name: cells.replace(" | ", "; ") for name, cells in ROW.findall(text)}
        found[f"contract {number}"] = TITLE.findall(text)[0]
        found |= {f"contract {number}.{n}": title for n, title in HEADING.findall(text)}
    return found


def marked(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (statement, test) for each mark in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.FunctionDef):
            continue
        for one in node.decorator_list:
            if (
                isinstance(one, ast.Call)
                and isinstance(one.func, ast.Name)
                and one.func.id == "spec"
            ):
                for name in one.args:
                    assert isinstance(name, ast.Constant), (path, node.name)
                    yield str(name.value), f"{path.relative_to(ROOT)}::{node.name}"


def tests() -> dict[str, list[str]]:
    """Return the tests of each statement that has at least one."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, test in marked(path):
            found[name].append(test)
    return found


def main() -> None:
    """Print the table, or with `--untested` the statements without tests."""
    by_name, texts = tests(), statements()
    if "--untested" in sys.argv:
        covered = {re.sub(r"-[a-z]$", "", name) for name in by_name} | by_name.keys()
        for name, text in texts.items():
            if not name.startswith("contract") and name not in covered:
                sys.stdout.write(f"{name:12} {text[:140]}\n")
        return
    for name in sorted(by_name):
        sys.stdout.write(f"{name}: {texts.get(name, '')[:160]}\n")
        for test in by_name[name]:
            sys.stdout.write(f"    {test}\n")


if __name__ == "__main__":
    main()
