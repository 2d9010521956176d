"""An empty Django project outside the repository, on an interpreter that has the wheel.

    host = new_host(tmp_path / "shop", python, database)
    host.write("shop/ojs_jobs.py", text)
    host.run("manage.py", "migrate")

`core_python` makes an interpreter that has the wheel and its core dependencies only.
"""

import subprocess
import sys
import sysconfig
import textwrap
import venv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tests.project.conftest import clean_environment

NAME = "ojs-django"


@dataclass(frozen=True, slots=True)
class Host:
    """A Django project with the settings module `config.settings`."""

    folder: Path
    python: Path

    def write(self, path: str, text: str) -> None:
        """Write a file of the project; its folders are made. Common indentation is removed."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text).lstrip())

    def add_settings(self, text: str) -> None:
        """Append text to the settings module."""
        with (self.folder / "config/settings.py").open("a") as settings:
            settings.write(textwrap.dedent(text))

    def use_database(self, database: Mapping[str, Any]) -> None:
        """Let the settings name an empty database.

        `database` is an entry of DATABASES; only NAME, USER, PASSWORD, HOST and PORT are read.
        """
        facts = {name: database[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
        engine = {"ENGINE": "django.db.backends.postgresql", **facts}
        self.add_settings(f'\nDATABASES = {{"default": {engine!r}}}\n')

    def add_app(self, name: str, **modules: str) -> None:
        """Make an app with these modules and install it."""
        self.write(f"{name}/__init__.py", "")
        for module, text in modules.items():
            self.write(f"{name}/{module}.py", text)
        self.add_settings(f'\nINSTALLED_APPS += ["{name}"]\n')

    def try_to_run(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run Python in the folder of the project, and return exit status and output."""
        return subprocess.run(
            [self.python, *arguments], cwd=self.folder, capture_output=True, text=True,
            env={**clean_environment(), "DJANGO_SETTINGS_MODULE": "config.settings", **variables},
            check=False,
        )  # fmt: skip

    def run(self, *arguments: str, **variables: str) -> str:
        """Run Python in the folder of the project; fail unless it succeeds. Return its output."""
        done = self.try_to_run(*arguments, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def new_host(folder: Path, python: Path, database: Mapping[str, Any] | None = None) -> Host:
    """Make a project with `django-admin startproject`, on a PostgreSQL database if one is given."""
    host = Host(folder, python)
    folder.mkdir()
    host.run("-m", "django", "startproject", "config", ".", DJANGO_SETTINGS_MODULE="")
    host.add_settings('\nALLOWED_HOSTS = ["testserver"]\n')
    if database is not None:
        host.use_database(database)
    return host


def core_python(folder: Path, wheel: Path) -> Path:
    """Make a virtual environment with the wheel and its core dependencies, without network.

    The dependencies are links to the packages of this interpreter. Return the interpreter.
    """
    python, packages = _installed(folder, wheel)
    (own,) = [one for one in distributions(path=[str(packages)]) if one.name == NAME]
    for found in _closure(own):
        _link(found, packages)
    return python


def full_python(folder: Path, wheel: Path) -> Path:
    """Make a virtual environment with the wheel and all packages of this interpreter."""
    python, packages = _installed(folder, wheel)
    others = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "others.pth").write_text("\n".join(others))
    for module in ("pip", "pytest"):  # those of the others would run another interpreter
        command = python.with_name(module)
        command.write_text(f'#!/bin/sh\nexec "{python}" -m {module} "$@"\n')
        command.chmod(0o755)
    return python


def _installed(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Return the interpreter of a new environment with the wheel, and its site-packages."""
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", "--no-index",
         "--no-deps", "--no-compile", "--disable-pip-version-check", wheel],
        check=True,
    )  # fmt: skip
    (packages,) = folder.glob("lib/python*/site-packages")
    return python, packages


def _closure(root: Distribution) -> Iterator[Distribution]:
    """Yield all distributions that one requires, itself not; extras only where asked for."""
    seen: set[tuple[str, str]] = set()
    wanted = list(_required(root, [""]))
    while wanted:
        one = wanted.pop()
        extras = [extra for extra in ("", *one.extras) if (one.name, extra) not in seen]
        seen |= {(one.name, extra) for extra in extras}
        if extras:
            found = distribution(one.name)
            yield found
            wanted += _required(found, extras)


def _required(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for text in of.requires or ():
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
            yield one


def _link(found: Distribution, packages: Path) -> None:
    for top in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
        if not (packages / top).exists():
            (packages / top).symlink_to(Path(str(found.locate_file(top))))
