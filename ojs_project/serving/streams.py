"""Sends bodies of unknown length, such as event streams, each in its own thread."""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections

from ojs_project.serving.connections import Connection
from ojs_project.serving.requests import Request
from ojs_project.serving.responses import Started, chunk, head

logger = logging.getLogger("ojs.http")

SENT_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Stream:
    """The response to one request, after which the connection closes."""

    connection: Connection
    request: Request
    started: Started
    body: Any  # an iterable of bytes

    def send(self, timeout_s: float, close: Callable[[Connection], None]) -> None:
        """Send it as fast as the client reads, until it reads nothing for `timeout_s`."""
        sock = self.connection.sock
        is_chunked = self.request.environ["SERVER_PROTOCOL"] == "HTTP/1.1"
        framing = "Transfer-Encoding: chunked\r\n" if is_chunked else ""
        try:
            sock.settimeout(timeout_s)
            sock.sendall(head(self.started, framing, ends=True))
            if self.request.environ["REQUEST_METHOD"] != "HEAD":
                for part in self._parts(is_chunked=is_chunked):
                    _send_all(sock, part)
        except OSError:
            pass  # the client has left, or reads nothing
        except Exception:
            logger.exception("stream.broken")
        finally:
            if hasattr(self.body, "close"):
                self.body.close()
            connections.close_all()
            close(self.connection)

    def _parts(self, *, is_chunked: bool) -> Iterator[bytes]:
        for part in self.body:
            if part:
                yield chunk(part) if is_chunked else part
        if is_chunked:
            yield chunk(b"")


def _send_all(sock: socket.socket, part: bytes) -> None:
    """Send bytes; the timeout of the socket applies to each piece of them."""
    for start in range(0, len(part), SENT_BYTES):
        sock.sendall(part[start : start + SENT_BYTES])
