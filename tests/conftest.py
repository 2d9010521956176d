"""Servers and processes for the tests."""

import asyncio
import logging
import os
import re
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache, partial
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test.utils import override_settings, setup_databases, teardown_databases
from pytest_django.plugin import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

from jobs import queries, trouble
from jobs.extensions import tables
from jobs.services.upkeep.reset import clear_caches, persist
from tests import effort
from tests.browser import VARIABLE
from tests.migrated import Migrated
from tests.processes import kill_family, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Spawn = Callable[..., "subprocess.Popen[bytes]"]
ROOT = Path(__file__).resolve().parent.parent
ASYNC_UNSAFE = "DJANGO_ALLOW_ASYNC_UNSAFE"
_RESET = (ROOT / "jobs" / "sql" / "upkeep" / "reset.sql").read_text()
_TABLES = re.findall(r"ojs_\w+", _RESET.partition("TRUNCATE")[2])
# A reset keeps these, but a test must not inherit them while no server runs. Processes cache the
# ids of version keys: a type that a test has split would have lanes of its own. And loops of an
# earlier server would be found to stand still.
_OF_A_SERVER = ("ojs_version_apart", "ojs_version_route", "ojs_loop")


_serving: list["subprocess.Popen[bytes]"] = []
_loops: list[asyncio.AbstractEventLoop] = []  # of the browser
_dropped: list[str] = []  # test databases at the end of the run: connections to them are dead


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests with a real server first, in two processes: these tests mostly wait."""
    items.sort(key=_has_server, reverse=True)
    for item in items:
        if _may_try_more(item):
            item.add_marker("thorough")
        if _has_server(item):
            is_case = item.path.parent.name == "conformance"
            item.add_marker(pytest.mark.xdist_group("conformance" if is_case else "server"))
        elif _is_shared(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))


def _may_try_more(item: pytest.Item) -> bool:
    """Return whether the module decides by `tests.effort` how much its tests try."""
    return isinstance(item, pytest.Function) and _has_effort(item.module)


@cache
def _has_effort(module: ModuleType) -> bool:
    functions = {one for one in vars(module).values() if isfunction(one)}
    return not functions.isdisjoint({effort.examples, effort.of_each})


def _has_server(item: pytest.Item) -> bool:
    return "server" in getattr(item, "fixturenames", ())


def _is_shared(item: pytest.Item) -> bool:
    """Return whether the tests of a module share an object, which one process then makes once."""
    if not isinstance(item, pytest.Function):
        return False
    known = item._fixtureinfo.name2fixturedefs
    return any(found[-1].scope == "module" for found in known.values())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End the server after the last test that uses it: its loops would move jobs of later tests."""
    with without_loop(item):
        yield
    if _serving and not (nextitem and _has_server(nextitem)):
        end_all(_serving)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Hide the loop of the browser: see `without_loop`."""
    with without_loop(item):
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hide the loop of the browser: see `without_loop`."""
    with without_loop(item):
        yield


@contextmanager
def without_loop(item: pytest.Item) -> Iterator[None]:
    """Hide the loop of `browser`, and its permission, from a test without a browser.

    Such tests run coroutines in this thread, and some expect that the ORM refuses to run on a loop.
    Django has other connections where a loop runs. So the fixtures of a test, which begin its
    transaction, must see no loop either.
    """
    running = (
        None if "browser" in getattr(item, "fixturenames", ()) else asyncio._get_running_loop()
    )
    if running is None:
        yield
        return
    asyncio._set_running_loop(None)
    permission = os.environ.pop(ASYNC_UNSAFE, None)
    try:
        yield
    finally:
        if permission is not None:
            os.environ[ASYNC_UNSAFE] = permission
        asyncio._set_running_loop(_loops[0] if _loops else None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that leaves a dead connection to the next test."""
    report = yield
    is_over = call.when == "teardown" and report.passed and not _dropped
    if is_over and (dead := _dead_connections()):
        report.outcome = "failed"
        report.longrepr = f"left dead connections: {', '.join(dead)}"
    return report


def _dead_connections() -> list[str]:
    """Close the connections of this thread that the server has ended; return their aliases."""
    from django.db import connections

    found = []
    for one in connections.all(initialized_only=True):
        raw = one.connection
        if raw is None or (not raw.closed and not _was_ended(raw)):
            continue
        found.append(one.alias)
        one.connection = None
    return found


def _was_ended(raw: Any) -> bool:
    """Return whether the server has ended a connection, without a statement."""
    look = select.poll()
    look.register(raw.fileno(), select.POLLIN)
    if not look.poll(0):
        return False
    try:
        raw.pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return bool(raw.pgconn.status == psycopg.pq.ConnStatus.BAD)


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Share the table of static files: the middleware of each test client would find them anew."""
    find = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, Any] = {}

    def share(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files = found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", share)
        yield


@pytest.fixture(scope="session")
def migrated(testrun_uid: str) -> Migrated:
    """Return the database of the run from which the others are copied."""
    return Migrated(f"ojs_migrated_{testrun_uid[:8]}")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    migrated: Migrated,
) -> Iterator[None]:
    """Make this worker's database always, not only when a test carries pytest-django's mark.

    Tests inspect the statements of their own connection, so enqueues in this process are not
    gathered. `tests/jobs/services/enqueue/test_gather.py` turns it on. The servers that tests start
    do gather.
    """
    # replace the setting, never change it in place: an earlier test without a database may have
    # read it
    with override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": False}):
        with django_db_blocker.unblock(), migrated.named() as template:
            connection.settings_dict["TEST"]["TEMPLATE"] = template
            made = setup_databases(verbosity=0, interactive=False)
        yield
        asyncio._set_running_loop(None)  # a browser that ended after a test without one leaves it
        with django_db_blocker.unblock():
            for one, name, _ in made:
                _dropped.append(name)
                end_sessions(one)
            teardown_databases(made, verbosity=0)
            migrated.drop()


def end_sessions(connection: BaseDatabaseWrapper) -> None:
    """Refuse new sessions of a database and end the open ones, so that it can be dropped.

    Otherwise a process that a test left behind would fail the run at its end.
    """
    name = connection.settings_dict["NAME"]
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {connection.ops.quote_name(name)} ALLOW_CONNECTIONS false")
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )


@pytest.fixture
def store(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Give an empty store with real commits, which the claim and other connections need."""
    with django_db_blocker.unblock():
        empty()
        yield
        empty()


def empty() -> None:
    """Empty the store by DELETE: TRUNCATE makes a hundred new files and takes thirty times as long.

    Other connections cannot write meanwhile, so no row appears behind the deletion.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid())"
        )
        is_shared = cursor.fetchone()[0]
    persist(partial(_delete, is_shared=is_shared))
    clear_caches()
    # an outage that a test made is none of the next test
    trouble.database = trouble.Database(logging.getLogger("ojs.database"))


def _delete(*, is_shared: bool) -> None:
    """Delete the rows of all tables that are not empty, in one transaction."""
    from django.db import connection, transaction

    names = (*_TABLES, "ojs_audit", "ojs_cache", *tables(), *(() if _serving else _OF_A_SERVER))
    with transaction.atomic(), connection.cursor() as cursor:
        if is_shared:
            cursor.execute(f"LOCK TABLE {', '.join(names)} IN EXCLUSIVE MODE")
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})"  # noqa: S608
                for name in names
            )
        )
        if filled := [name for (name,) in cursor]:
            # with this setting the trigger of the audit log permits the removal of entries
            allowed = "SELECT set_config('ojs.audit_removal', 'on', true)"
            cursor.execute("; ".join([allowed, *map("DELETE FROM {}".format, filled)]))
        if is_shared:
            queries.raise_config_version()  # other processes cache the configuration of queues


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """Return the URL of this worker's test database."""
    from django.db import connection

    facts = connection.settings_dict
    return f"postgresql://{facts['USER']}@/{facts['NAME']}?host={facts['HOST']}"


@pytest.fixture(scope="session")
def spawn(database_url: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that starts a Python process on the test database."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url, **environment},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    end_all(started)


def end_all(processes: list["subprocess.Popen[bytes]"]) -> None:
    """End processes and empty the list; kill a process that ignores the signal."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    while processes:
        process = processes.pop()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            kill_family(process.pid)
            process.wait()


def statements_in(app: Path) -> list[str]:
    """Return the names of an app's statements, without stored functions and parts."""
    return [
        path.stem
        for path in sorted((app / "sql").rglob("*.sql"))
        if not {"functions", "parts"} & set(path.parts)
    ]


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def http_server(port: int, *, workers: int = 1, threads: int = 4) -> list[str]:
    """Return the arguments of Python that start an HTTP server on this machine."""
    return [
        "-m", "gunicorn", "--config", "python:ojs_project.gunicorn",
        "--bind", f"127.0.0.1:{port}", "--workers", str(workers), "--threads", str(threads),
        "--log-level", "warning",
    ]  # fmt: skip


@pytest.fixture(scope="session")
def server(spawn: Callable[..., subprocess.Popen[bytes]]) -> str:
    """Return the URL of a real server with its loops, on this worker's test database."""
    port = free_port()
    http = spawn(*http_server(port, workers=2))
    _serving.extend([http, spawn("manage.py", "runworker", "--no-handlers")])
    url = f"http://127.0.0.1:{port}"
    wait_until_healthy(url)
    return url


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Return the browser of the run, at the path that tests/left_out.py found."""
    from playwright.sync_api import sync_playwright

    # its loop runs in this thread; tests call the ORM between its steps, never within a step
    os.environ[ASYNC_UNSAFE] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ[VARIABLE],
            args=["--no-sandbox", "--disable-background-networking"],
        )
        _loops.append(asyncio.get_running_loop())
        yield chromium
        show_loop()
        chromium.close()
        _loops.clear()


def show_loop() -> None:
    """Show the loop of the browser again at the end of the run, which the last test may hide."""
    asyncio._set_running_loop(_loops[0])


def wait_until_answering(url: str) -> None:
    """Wait until a server process answers; the state of the database does not matter."""

    def is_answering() -> bool:
        try:
            return httpx.get(f"{url}/livez", timeout=2).is_success
        except httpx.HTTPError:
            return False

    until(is_answering, f"an answer of {url}")


def wait_until_healthy(url: str) -> None:
    """Wait until a server answers and every loop runs."""

    def is_healthy() -> bool:
        try:
            return bool(httpx.get(f"{url}/ojs/v1/health", timeout=2).json()["status"] == "ok")
        except (httpx.HTTPError, ValueError):
            return False

    until(is_healthy, f"health of {url}")
