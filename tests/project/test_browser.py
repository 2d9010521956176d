"""The search for a browser; without a browser the run reports the tests that it leaves out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import browser
from tests.conftest import ROOT


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the PATH of a machine without a browser."""
    monkeypatch.delenv(browser.VARIABLE)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser, "PLACES", ())
    monkeypatch.setattr(browser, "_of_playwright", lambda: None)
    monkeypatch.setattr(browser, "_run", lambda *_: False)
    return tmp_path


def program(path: Path, text: str = "echo Chromium 150.0", code: int = 0) -> str:
    """Write a program and return its path."""
    path.write_text(f"#!/bin/sh\n{text}\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", browser.NAMES)
def test_a_browser_on_the_path_is_found(machine: Path, name: str) -> None:
    path = program(machine / name)

    assert browser.find() == browser.get() == path


def test_a_program_that_only_advises_an_install_is_passed_over(machine: Path) -> None:
    program(machine / "chromium", "echo install the snap instead", 10)
    path = program(machine / "google-chrome")

    assert browser.find() == path


def test_the_variable_names_one_anywhere(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine / "chromium")
    (machine / "far").mkdir()
    path = program(machine / "far" / "my browser")
    monkeypatch.setenv(browser.VARIABLE, path)

    assert browser.find() == path


@pytest.mark.parametrize("name", ["nowhere", "odd"])
def test_a_variable_that_names_no_browser_is_refused(
    machine: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program(machine / "odd", "exit 3")
    monkeypatch.setenv(browser.VARIABLE, str(machine / name))

    with pytest.raises(browser.NoBrowser, match=browser.VARIABLE):
        browser.find()


def test_without_one_root_installs_it_and_others_download_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(machine / "apt-get")
    for user, expected in ((0, ["apt-get", "apt-get"]), (1000, [sys.executable])):
        asked: list[str] = []

        def run(command: list[str], _variables: dict[str, str], asked: list[str] = asked) -> bool:
            asked.append(command[0])
            return True

        monkeypatch.setattr(browser, "_run", run)
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)

        assert browser.get() is None  # this installed no browser
        assert asked[: len(expected)] == expected


def test_the_command_prints_what_was_found(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser.main()
    assert capsys.readouterr().out == browser.NONE
    path = program(machine / "chromium")

    browser.main()

    assert capsys.readouterr().out == path


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_run_without_a_browser_says_what_it_leaves_out(processes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", processes, "-p", "no:cacheprovider",
         "tests/console/test_system.py", "--collect-only" if processes == "0" else "-k browser"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**_plain(os.environ), browser.VARIABLE: browser.NONE},
    )  # fmt: skip
    said = done.stdout

    assert len(re.findall(r"browser tests are left out, as no browser was found", said)) == 2, said
    assert re.search(r"\d tests were left out: tests/console/test_system.py \(\d\)", said)
    assert browser.VARIABLE in said


def _plain(environment: os._Environ[str]) -> dict[str, str]:
    """Return an environment for an independent run of pytest on the same server."""
    taken = ("PYTEST_", "COV_")
    return {name: value for name, value in environment.items() if not name.startswith(taken)}
