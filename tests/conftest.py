"""PostgreSQL and servers for the tests: nothing on the machine is needed or touched.

The controller starts one embedded cluster for the run, unless DATABASE_URL names a server; each
xdist worker has its own database in it.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ojs_project.postgres import Cluster

ROOT = Path(__file__).resolve().parent.parent
CLUSTER: list[Cluster] = []
FOR_TESTS = {
    "fsync": "off",
    "shared_buffers": "256MB",
    "max_connections": "300",
    "full_page_writes": "off",
    "idle_in_transaction_session_timeout": "0",
}

os.environ.setdefault("OJS_SECRET_KEY", "for-tests-" + "x" * 50)
os.environ.setdefault("OJS_AUTH", "off")
os.environ.setdefault("OJS_ALLOW_INSECURE", "true")
os.environ.setdefault("OJS_ALLOW_RESET", "true")
os.environ.setdefault("OJS_TEST_DIRECTIVES", "true")


def _start_cluster() -> None:
    if "DATABASE_URL" in os.environ:
        return
    folder = Path(tempfile.mkdtemp(prefix="ojs-tests-"))
    folder.chmod(0o711)
    CLUSTER.append(Cluster(folder / "cluster", FOR_TESTS).start())
    os.environ["DATABASE_URL"] = CLUSTER[0].url


# before pytest-django reads the settings; xdist workers inherit the variable
_start_cluster()


def pytest_unconfigure() -> None:
    """End and remove the cluster, also after a failed run."""
    while CLUSTER:
        cluster = CLUSTER.pop()
        cluster.stop(immediately=True)
        shutil.rmtree(cluster.folder.parent, ignore_errors=True)


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
    for process in started:
        if process.poll() is None:
            process.terminate()
    for process in started:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(spawn: Callable[..., subprocess.Popen[bytes]]) -> str:
    """Return the URL of a real server with its loops, on this worker's test database."""
    port = free_port()
    spawn(
        "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "2", "--blocking-threads", "4", "--log-level", "warning",
        "ojs_project.wsgi:application",
    )  # fmt: skip
    spawn("manage.py", "runworker", "--no-handlers")
    url = f"http://127.0.0.1:{port}"
    _wait_for(f"{url}/ojs/v1/health")
    return url


def _wait_for(url: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"no server at {url}")
