"""Databases of the last release, and its processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql
from pytest_django.plugin import DjangoDbBlocker

from jobs.services.upkeep.reset import clear_caches
from tests.conftest import ROOT, end_all
from tests.upgrade import release

Make = Callable[[str], str]
Run = Callable[..., "subprocess.Popen[bytes]"]
Enter = Callable[[str], AbstractContextManager[None]]


def firststart(url: str, *, source: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run `manage.py firststart` on a database."""
    return subprocess.run(
        [sys.executable, "manage.py", "firststart"],
        cwd=source, env=environment(url, source), text=True, capture_output=True, check=False,
    )  # fmt: skip


def environment(url: str, source: Path) -> dict[str, str]:
    """Return the environment of a process of one source; it finds the tests' handlers here."""
    path = os.pathsep.join([str(source), str(ROOT)])
    return {**os.environ, **release.SETTINGS, "DATABASE_URL": url, "PYTHONPATH": path}


@pytest.fixture(scope="session")
def databases(database_url: str) -> Iterator[Make]:
    """Return a function that makes a database from another (`template0`: empty), given its URL."""
    made: list[str] = []
    name = database_url.rpartition("@/")[2].partition("?")[0]
    server = database_url.replace(f"/{name}?", "/postgres?")

    def run(statement: str, *names: str) -> None:
        with psycopg.connect(server, autocommit=True) as session:
            session.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def make(template: str) -> str:
        template = template.rpartition("@/")[2].partition("?")[0]
        made.append(f"{name}_upgrade_{len(made)}")
        run("CREATE DATABASE {} TEMPLATE {}", made[-1], template)
        return database_url.replace(f"/{name}?", f"/{made[-1]}?")

    yield make
    for one in made:
        run("DROP DATABASE {} WITH (FORCE)", one)


@pytest.fixture(scope="session")
def restored(databases: Make) -> str:
    """Return the database of the last release in its original state; copy it, never change it."""
    url = databases("@/template0?")
    release.restore(url)
    return url


@pytest.fixture(scope="session")
def oldest(databases: Make) -> str:
    """Return the database of the first release in its original state; copy it, never change it."""
    url = databases("@/template0?")
    release.restore(url, release.older()[0])
    return url


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the last release's source."""
    return release.unpack(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="session")
def upgraded(databases: Make, restored: str) -> str:
    """Return the last release's database after an upgrade; tests only read it."""
    url = databases(restored)
    done = firststart(url)
    assert done.returncode == 0, done.stderr
    return url


@pytest.fixture
def entered(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Enter:
    """Return a context manager in which this thread works on another database."""

    @contextmanager
    def enter(url: str) -> Iterator[None]:
        facts = connection.settings_dict
        before = facts["NAME"]
        with django_db_blocker.unblock():
            connection.close()
            facts["NAME"] = url.rpartition("@/")[2].partition("?")[0]
            clear_caches()
            try:
                yield
            finally:
                connection.close()
                facts["NAME"] = before
                clear_caches()

    return enter


@pytest.fixture
def processes() -> Iterator[Run]:
    """Return a function that starts a Python process of one source on a database."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        url: str, source: Path, *arguments: str, **variables: str
    ) -> "subprocess.Popen[bytes]":
        started.append(
            subprocess.Popen(
                [sys.executable, *arguments],
                cwd=source,
                env={**environment(url, source), **variables},
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    end_all(started)
