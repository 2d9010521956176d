"""The wheel of this tree, built once per run, and interpreters that have it."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.package import host
from tests.package.dist import build

Make = Callable[[Path], object]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Make], Path]:
    """Return a function that makes a folder once for all processes of the run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Make) -> Path:
        folder, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                fill(folder)
                done.touch()
        return folder

    return make


@pytest.fixture(scope="session")
def wheel(once: Callable[[str, Make], Path]) -> Path:
    """Return the wheel of this tree."""
    (built,) = once("ojs-wheel", lambda folder: build(folder, "--wheel")).iterdir()
    return built


@pytest.fixture(scope="session")
def core_python(once: Callable[[str, Make], Path], wheel: Path) -> Path:
    """Return an interpreter that has the wheel and its core dependencies only."""
    return once("ojs-core", lambda folder: host.core_python(folder, wheel)) / "bin/python"


@pytest.fixture(scope="session")
def full_python(once: Callable[[str, Make], Path], wheel: Path) -> Path:
    """Return an interpreter that has the wheel and the packages of all extras."""
    return once("ojs-full", lambda folder: host.full_python(folder, wheel)) / "bin/python"


@pytest.fixture
def database(store: None) -> Iterator[dict[str, Any]]:
    """Return the facts of an empty database, and drop it afterwards."""
    facts = {**connection.settings_dict, "NAME": f"{connection.settings_dict['NAME']}_host"}
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{facts["NAME"]}" TEMPLATE template0')
        yield facts
        cursor.execute(f'DROP DATABASE "{facts["NAME"]}" WITH (FORCE)')


@pytest.fixture
def core_host(tmp_path: Path, core_python: Path, database: dict[str, Any]) -> host.Host:
    """Return an empty project whose interpreter has the core only."""
    return host.new_host(tmp_path / "project", core_python, database)
