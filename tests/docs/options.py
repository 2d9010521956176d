"""Parse the options of commands without running the commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Final
from unittest.mock import patch

from django.core.management import get_commands, load_command_class

from tests.conftest import ROOT

PYTHON: Final = "python -m "


def check(text: str) -> int:
    """Check each command of a block of shell lines; returns their number.

    Raises AssertionError for an unknown command, and SystemExit or CommandError for wrong options.
    """
    found = list(_commands(text))
    for words in found:
        match words:
            case ["make", *arguments]:
                _check_module(_made(arguments))
            case ["python", "manage.py", name, *arguments] | ["manage.py", name, *arguments]:
                _check_command(name, arguments)
            case _:
                raise AssertionError(f"no command whose options are known: {words}")
    return len(found)


def _commands(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words[: words.index(">")] if ">" in words else words


def _made(arguments: list[str]) -> list[str]:
    """Return module and arguments that a target of the Makefile passes to Python."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *arguments],  # noqa: S607 - of the PATH
        cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"]},  # without the variables of a `make test` around it
    )  # fmt: skip
    return shlex.split(done.stdout.splitlines()[-1].partition(PYTHON)[2])


def _check_module(words: list[str]) -> None:
    """Let the options of a benchmark be read."""
    module, *arguments = words
    with patch.object(sys, "argv", [module, *arguments]):
        import_module(f"{module}.__main__")._options()


def _check_command(name: str, arguments: list[str]) -> None:
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)
