"""A server in the process of the test, with any application and any limits."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ojs_project.serving.limits import Limits
from ojs_project.serving.server import Server
from tests.processes import DEADLINE_S

THREADS = 2


class Line:
    """A connection of a client, sent and read byte by byte."""

    def __init__(self, port: int) -> None:
        """Connect to the server."""
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)

    def send(self, data: bytes) -> "Line":
        """Send bytes."""
        self.sock.sendall(data)
        return self

    def get(self, path: str) -> "Line":
        """Send a whole GET request."""
        return self.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def status(self) -> int:
        """Read one response with a length; return its status."""
        return self.response()[0]

    def response(self) -> tuple[int, dict[str, str], bytes]:
        """Read one response with a length; return status, headers and body."""
        start = b""
        while not start.endswith(b"\r\n\r\n"):
            byte = self.sock.recv(1)
            assert byte, f"the server closed the connection after {start!r}"
            start += byte
        first, *lines = start.decode().strip().split("\r\n")
        headers = {name.lower(): text for name, _, text in (one.partition(": ") for one in lines)}
        length = int(headers.get("content-length", 0))
        body = b""
        while len(body) < length:
            body += self.sock.recv(length - len(body))
        return int(first.split()[1]), headers, body

    def error(self) -> tuple[int, str]:
        """Read a refusal and the end of the connection; return status and code."""
        status, headers, body = self.response()
        assert headers["content-type"] == "application/openjobspec+json"
        assert headers["connection"] == "close"
        assert self.is_closed()
        return status, json.loads(body)["error"]["code"]

    def is_closed(self) -> bool:
        """Wait until the server closes the connection."""
        try:
            while self.sock.recv(65_536):
                pass
        except ConnectionError:
            pass
        return True


class Gate:
    """A WSGI application whose requests to /wait block until the test opens the gate."""

    def __init__(self) -> None:
        """Start with a closed gate."""
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        """Answer with facts of the request; some paths fail, block or send large bodies."""
        body = environ["wsgi.input"].read()
        path = environ["PATH_INFO"]
        if path == "/wait":
            self.entered.release()
            self.opened.wait(DEADLINE_S)
        if path == "/broken":
            raise RuntimeError
        start("200 OK", [("X-Path", path.encode().hex())])
        if path == "/endless":
            return iter(lambda: b"x" * 65_536, b"")
        if path == "/large":
            return [b"x" * 50_000_000]
        return [f"{path} {len(body)} {environ.get('CONTENT_LENGTH')}".encode()]

    def wait_for(self, number: int) -> None:
        """Wait until this number of requests to /wait have arrived."""
        for _ in range(number):
            assert self.entered.acquire(timeout=DEADLINE_S)


class Site:
    """A running server and its clients."""

    def __init__(self, server: Server, port: int) -> None:
        """Start without clients."""
        self.server = server
        self._port = port
        self.lines: list[Line] = []
        self._is_stopped = False

    def __call__(self) -> Line:
        """Connect a client."""
        self.lines.append(Line(self._port))
        return self.lines[-1]

    def stop(self) -> None:
        """Stop the server, once."""
        if not self._is_stopped:
            self._is_stopped = True
            self.server.drain()
            self.server.stop()


Connect = Callable[..., Site]


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return the application; open its gate after the test."""
    made = Gate()
    yield made
    made.opened.set()


@pytest.fixture
def serving(gate: Gate) -> Iterator[Connect]:
    """Return a function that starts a server with these limits."""
    over = threading.Event()
    started: list[tuple[Site, threading.Thread]] = []

    def serve(tls: ssl.SSLContext | None = None, application: Any = gate, **limits: int) -> Site:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2_048)
        site = Site(
            Server(
                application,
                [listener],
                threads=THREADS,
                limits=Limits(**{"max_body_bytes": 100_000, **limits}),
                is_trusted=lambda _client: False,
                tls=tls,
            ),
            listener.getsockname()[1],
        )

        def look() -> None:
            while not over.wait(0.02):
                site.server.look()

        looking = threading.Thread(target=look)
        site.server.start()
        looking.start()
        started.append((site, looking))
        return site

    yield serve
    gate.opened.set()
    over.set()
    for site, looking in started:
        for line in site.lines:
            line.sock.close()
        looking.join()
        site.stop()
