"""A real server that requires API keys, and a host project with `ojs_tasks` alone."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.services.access import api_keys
from ojs_tasks.remote.server import RemoteServer
from tests.conftest import Spawn, end_all, free_port, http_server, wait_until_healthy
from tests.ojs_tasks.remote import between as proxies
from tests.ojs_tasks.remote import project as projects


@dataclass
class Site:
    """A served OJS server."""

    url: str
    http: "subprocess.Popen[bytes]"
    restart: Callable[[], None]


@pytest.fixture(scope="module")
def site(spawn: Spawn) -> Iterator[Site]:
    """Serve the test database, with keys and loops."""
    port = free_port()

    def serve() -> "subprocess.Popen[bytes]":
        return spawn(*http_server(port, threads=12), OJS_AUTH="apikey")

    def restart() -> None:
        end_all([found.http])
        found.http = serve()

    loops = spawn("manage.py", "runworker", "--no-handlers")
    found = Site(f"http://127.0.0.1:{port}", serve(), restart)
    wait_until_healthy(found.url)
    yield found
    end_all([found.http, loops])


@pytest.fixture
def make_key(store: None) -> Callable[..., str]:
    """Return a function that makes an API key with these scopes."""

    def make(*scopes: str, **limits: Any) -> str:
        return api_keys.create(api_keys.NewKey("tests", scopes, **limits))[1]

    return make


@pytest.fixture
def key(make_key: Callable[..., str]) -> str:
    """Return the text of a key that may do everything."""
    return make_key("admin")


@pytest.fixture
def remote(site: Site, key: str) -> Iterator[RemoteServer]:
    """Return the server as producers see it."""
    found = RemoteServer({"SERVER": site.url, "API_KEY": key, "TIMEOUT": 30})
    yield found
    found.close()


@pytest.fixture
def between(site: Site) -> Iterator[proxies.Between]:
    """Return a proxy in front of the server."""
    yield from proxies.between(site.url)


@pytest.fixture
def behind(between: proxies.Between, key: str) -> Iterator[RemoteServer]:
    """Return the server behind the proxy."""
    found = RemoteServer({"SERVER": between.url, "API_KEY": key, "TIMEOUT": 30})
    yield found
    found.close()


@pytest.fixture
def host(site: Site, key: str, tmp_path: Path) -> Iterator[projects.Project]:
    """Return a host project of the server."""
    yield from projects.project(tmp_path, site.url, key)
