"""The manual matches the code: variables, defaults, options, commands, files."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandParser

from jobs.conf import Conf
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
ROW = re.compile(r"^\| `([A-Z_]+)`( \*)? \| (.+?) \| (.+) \|$", re.MULTILINE)
# settings derive it from a URL
NO_VARIABLE = {"database", "direct_database", "replica_database"}


def documented() -> dict[str, tuple[bool, str]]:
    """Return (is a key of settings.OJS, default) of every variable in the manual."""
    return {name: (bool(star), default) for name, star, default, _ in ROW.findall(CONFIGURATION)}


def read_by_code() -> set[str]:
    """Return every variable that the server's code reads by name."""
    readers = "text|choice|flag|integer|decimal|names|is_set|duration_ms"
    asked = re.compile(rf"env\.(?:{readers})\(\s*\"([A-Z_]+)\"")
    return {
        name
        for path in (ROOT / "ojs_project").rglob("*.py")
        for name in asked.findall(path.read_text())
    }


def test_every_variable_is_documented_and_no_other() -> None:
    keys = {f"OJS_{field.name.upper()}" for field in fields(Conf) if field.name not in NO_VARIABLE}

    assert documented().keys() == read_by_code() | keys | {"PROMETHEUS_MULTIPROC_DIR"}


def shown(value: Any) -> str:
    """Return a default in the spelling of the manual."""
    if value in {(), None}:
        return "none"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@pytest.mark.parametrize("field", fields(Conf), ids=lambda field: field.name)
def test_defaults_are_those_of_the_code(field: Any) -> None:
    if field.name in NO_VARIABLE:
        return
    assert documented()[f"OJS_{field.name.upper()}"] == (True, shown(field.default))


@pytest.mark.parametrize("command", ["quickstart", "runworker"])
def test_every_option_of_a_command_is_documented_and_no_other(command: str) -> None:
    parser = CommandParser()
    load_command_class(get_commands()[command], command).add_arguments(parser)
    options = {
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and not option.startswith("--no-demo")
    } - {"--help", "--child"}
    section = CONFIGURATION.partition(f"`{command}`:")[2].partition("\n`")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `--")]

    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) == options


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    for command in re.findall(r"manage\.py ([a-z_]+)", page.read_text()):
        assert command in get_commands(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200
