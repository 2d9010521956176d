"""A server of the test's own process, with any application and any limits."""

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
    """A client's connection, byte by byte."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)

    def send(self, data: bytes) -> "Line":
        """Send bytes."""
        self.sock.sendall(data)
        return self

    def get(self, path: str) -> "Line":
        """Send a whole request."""
        return self.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def status(self) -> int:
        """Read one response with a length; returns its status."""
        return self.response()[0]

    def response(self) -> tuple[int, dict[str, str], bytes]:
        """Read one response with a length."""
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
        """Read a refusal and the end of the connection; returns status and code."""
        status, headers, body = self.response()
        assert headers["content-type"] == "application/openjobspec+json"
        assert headers["connection"] == "close"
        assert self.is_closed()
        return status, json.loads(body)["error"]["code"]

    def is_closed(self) -> bool:
        """Wait for the server's end of the connection."""
        try:
            while self.sock.recv(65_536):
                pass
        except ConnectionError:
            pass
        return True


class Gate:
    """An application whose requests to /wait end when the test says so."""

    def __init__(self) -> None:
        """Let requests wait."""
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        """Answer with facts of the request."""
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
        """Wait until so many requests wait."""
        for _ in range(number):
            assert self.entered.acquire(timeout=DEADLINE_S)


class Site:
    """A server that runs, and its clients."""

    def __init__(self, server: Server, port: int) -> None:
        """Have no client yet."""
        self.server = server
        self._port = port
        self.lines: list[Line] = []

    def __call__(self) -> Line:
        """Connect a client."""
        self.lines.append(Line(self._port))
        return self.lines[-1]


Connect = Callable[..., Site]


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return the application; it is open at the end."""
    made = Gate()
    yield made
    made.opened.set()


@pytest.fixture
def serving(gate: Gate) -> Iterator[Connect]:
    """Return a function that starts a server with limits."""
    over = threading.Event()
    started: list[tuple[Site, threading.Thread]] = []

    def serve(tls: ssl.SSLContext | None = None, **limits: int) -> Site:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2_048)
        site = Site(
            Server(
                gate,
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
        site.server.drain()
        site.server.stop()
