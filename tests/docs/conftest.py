"""The projects of the pages, their databases, and the server that their requests reach.

All tests with one of these fixtures run in one process, so that they share what is slow to make: a
database with all tables, an empty project, and a server.
"""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection
from psycopg.sql import SQL, Identifier

from tests.conftest import end_all, free_port, http_server, wait_until_healthy
from tests.docs import host
from tests.docs.host import Host, Kind

# the wheel of this tree, and interpreters that have it
from tests.package.conftest import full_python, once, wheel  # noqa: F401
from tests.processes import DEADLINE_S

Facts = dict[str, Any]
LOOPS = ["-m", "ojs_project", "runworker", "--no-handlers"]
MakeHost = Callable[[Kind], Host]


@contextlib.contextmanager
def new_database(name: str, template: str) -> Iterator[Facts]:
    """Make a database, and drop it at the end. Yield its entry of DATABASES."""
    facts = {**connection.settings_dict, "NAME": f"{connection.settings_dict['NAME']}_{name}"}
    names = {"name": Identifier(facts["NAME"]), "template": Identifier(template)}
    with psycopg.connect(
        dbname="postgres", host=facts["HOST"], user=facts["USER"],
        password=facts["PASSWORD"] or None, port=facts["PORT"] or None, autocommit=True,
    ) as session:  # fmt: skip
        session.execute(SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        try:
            yield facts
        finally:
            session.execute(SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))


def of_server(python: Path, database: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of the standalone server on a database."""
    url = f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}"
    return {
        **host.environment(python), "DATABASE_URL": url, "OJS_SECRET_KEY": "x" * 50,
        "OJS_AUTH": "off", "OJS_ALLOW_INSECURE": "true", "OJS_ALLOW_RESET": "true",
        "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
    }  # fmt: skip


@pytest.fixture(scope="session")
def migrated(django_db_setup: None, full_python: Path) -> Iterator[str]:  # noqa: F811
    """Return the name of a database that has all tables; it is a template of others."""
    with new_database("docs", "template0") as facts:
        subprocess.run(
            ["ojs-server", "migrate", "--verbosity", "0"],  # noqa: S607 - of the wheel
            cwd=full_python.parent, env=of_server(full_python, facts), check=True,
        )  # fmt: skip
        yield facts["NAME"]


@pytest.fixture(scope="session")
def started(
    full_python: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return the folder of an empty project."""
    return host.start(tmp_path_factory.mktemp("started") / "project", full_python)


@pytest.fixture
def make_host(
    tmp_path: Path,
    full_python: Path,  # noqa: F811
    started: Path,
    request: pytest.FixtureRequest,
) -> Iterator[MakeHost]:
    """Return a function that makes the project of a page, on a database of its own."""
    with contextlib.ExitStack() as stack:

        def make(kind: Kind) -> Host:
            is_empty = kind is Kind.EMPTY
            template = "template0" if is_empty else request.getfixturevalue("migrated")
            facts = stack.enter_context(new_database("host", template))
            if kind is Kind.TWO:
                stack.enter_context(new_database("host_jobs", template))
            made = host.make(tmp_path / "project", started, full_python, facts, kind)
            variables = of_server(full_python, facts) if kind is Kind.APPS else {}
            return replace(made, environment={**variables, **made.environment})

        yield make


@pytest.fixture
def project(make_host: MakeHost) -> Host:
    """Return an empty project on an empty database."""
    return make_host(Kind.EMPTY)


@pytest.fixture(scope="session")
def serving(
    migrated: str,
    full_python: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Return the URL of a server of the wheel, with its loops."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with new_database("served", migrated) as facts:
        folder = tmp_path_factory.mktemp("served")
        processes = [
            subprocess.Popen(
                [full_python, *arguments], env=of_server(full_python, facts), cwd=folder,
                start_new_session=True,
            )
            for arguments in (http_server(port), LOOPS)
        ]  # fmt: skip
        wait_until_healthy(url)
        yield url
        end_all(processes)


@pytest.fixture
def served(serving: str) -> str:
    """Return the URL of a server without jobs."""
    httpx.post(f"{serving}/ojs/v1/admin/reset", timeout=DEADLINE_S).raise_for_status()
    return serving
