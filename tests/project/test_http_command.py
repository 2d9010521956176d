"""The README's command of the HTTP server: it runs, and slow clients do not stop it."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT, free_port, wait_until_answering
from tests.effort import of_each
from tests.processes import DEADLINE_S, kill_family
from tests.spec import spec

SLOW = (
    b"POST /console/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\na=",
    b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{}",
    b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /ojs/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",  # refused: no key
    b"GET /li",
    b"",
)
EACH = 40


def command() -> list[str]:
    """Return the command of the HTTP server from the README."""
    (line,) = re.findall(r"^\| HTTP server \| `([^`]+)` \|", (ROOT / "README.md").read_text(), re.M)
    return shlex.split(line)


@pytest.fixture
def url(database_url: str, store: None) -> Iterator[str]:
    """Return the URL of a server that README's command runs, with API keys required."""
    port = free_port()
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "OJS_AUTH": "apikey",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}",  # a free port
    }
    server = subprocess.Popen(command(), cwd=ROOT, env=environment, start_new_session=True)
    wait_until_answering(f"http://127.0.0.1:{port}")
    yield f"http://127.0.0.1:{port}"
    server.send_signal(signal.SIGTERM)
    try:
        assert server.wait(DEADLINE_S) == 0
    finally:
        kill_family(server.pid)


@pytest.mark.parametrize("begun", of_each(SLOW))
@spec("contract 31.3")
def test_slow_clients_do_not_stop_the_server(url: str, begun: bytes) -> None:
    place = ("127.0.0.1", int(url.rpartition(":")[2]))
    with ExitStack() as lines:
        for _ in range(EACH):
            line = socket.create_connection(place, DEADLINE_S)
            lines.enter_context(line).sendall(begun)

        for path, status in (("/livez", 200), ("/ready", 200), ("/ojs/v1/queues", 401)):
            assert httpx.get(f"{url}{path}", timeout=DEADLINE_S).status_code == status
        job = {"type": "a.b", "args": []}
        assert httpx.post(f"{url}/ojs/v1/jobs", json=job, timeout=DEADLINE_S).status_code == 401
