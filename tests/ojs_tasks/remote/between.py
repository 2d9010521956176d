"""A proxy between a client and the server, which loses or replaces answers."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from tests.processes import DEADLINE_S


@dataclass(frozen=True)
class Fault:
    """What becomes of a request: its answer is lost, or another one comes instead."""

    method: str
    path: str  # the end of the path
    status: int = 0  # 0: the server gets the request, and its answer is lost
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Between(ThreadingHTTPServer):
    """The proxy; `faults` happen once each, in order."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        """Forward to this URL."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = httpx.Client(base_url=upstream, timeout=DEADLINE_S)
        self.faults: list[Fault] = []
        self.seen: list[str] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self.server_port}"

    def fault_of(self, method: str, path: str) -> Fault | None:
        """Take the next fault if it is meant for this request."""
        with self.lock:
            self.seen.append(f"{method} {path}")
            if not self.faults:
                return None
            first = self.faults[0]
            if first.method != method or not path.endswith(first.path):
                return None
            return self.faults.pop(0)


class _Handler(BaseHTTPRequestHandler):
    server: Between

    def handle_any(self) -> None:
        """Forward a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault_of(self.command, self.path)
        if fault is not None and fault.status:
            self.answer(fault.status, fault.headers, fault.body)
            return
        headers = {n: v for n, v in self.headers.items() if n.lower() not in {"host", "connection"}}
        answer = self.server.upstream.request(
            self.command, self.path, content=body, headers=headers
        )
        if fault is not None:
            self.close_connection = True
            return
        kept = {n: v for n, v in answer.headers.items() if n.lower() in {"content-type"}}
        self.answer(answer.status_code, kept, answer.content)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names of the base class

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Write no log."""


def between(upstream: str) -> Iterator[Between]:
    """Run a proxy."""
    proxy = Between(upstream)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield proxy
    proxy.shutdown()
    thread.join()
    proxy.server_close()
    proxy.upstream.close()
