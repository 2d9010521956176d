"""A small HTTP server for Django's ASGI application: one request at a time, whole bodies.

`python -m tests.jobs.fastpath.asgi_server PORT`. No ASGI server is a dependency of the project.
"""

import asyncio
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.asgi import get_asgi_application

OWN = {"content-length", "date", "server", "transfer-encoding"}  # headers of this server


class Exchange(BaseHTTPRequestHandler):
    """Passes one request to the application."""

    application: Callable[..., Any]

    def do_GET(self) -> None:
        """Answer any method."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        events = asyncio.run(_exchange(self.application, self._scope(), body))
        start = events[0]
        content = b"".join(event.get("body", b"") for event in events[1:])
        self.send_response(start["status"])
        for name, value in start["headers"]:
            if name.decode().lower() not in OWN:
                self.send_header(name.decode(), value.decode("latin-1"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_DELETE = do_OPTIONS = do_PATCH = do_POST = do_PUT = do_GET  # noqa: N815 - the base's names

    def log_message(self, *_facts: Any) -> None:
        """Log nothing."""

    def _scope(self) -> dict[str, Any]:
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.command,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (name.lower().encode(), value.encode("latin-1"))
                for name, value in self.headers.items()
            ],
            "client": self.client_address,
            "server": self.server.server_address,
        }


async def _exchange(
    application: Callable[..., Any], scope: dict[str, Any], body: bytes
) -> list[dict[str, Any]]:
    """Return the events with which the application answers a request."""
    waiting: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
    events: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()  # the client stays connected until its answer
        return waiting.pop()

    async def send(event: dict[str, Any]) -> None:
        events.append(event)

    await application(scope, receive, send)
    return events


if __name__ == "__main__":
    Exchange.application = staticmethod(get_asgi_application())
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Exchange).serve_forever()
