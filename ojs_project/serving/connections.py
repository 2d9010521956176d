"""A connection of a client: its socket, its requests, and its unsent bytes."""

import select
import socket
import ssl
import sys
from typing import Final

from jobs.api.wire.media import SERVED
from ojs_project.serving.requests import Environ, Held, Reader

READ_BYTES: Final = 65_536  # bytes of one read
NOT_NOW: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """A client's connection; one thread owns it at a time."""

    __slots__ = (
        "client", "due", "ends", "held", "is_lingering", "reader", "sock", "unsent",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, client: str, reader: Reader, held: Held) -> None:
        """Take over a socket that does not block."""
        self.sock = sock
        self.client = client  # address
        self.reader = reader
        self.held = held  # counts the response bytes of the process
        self.unsent: memoryview = memoryview(b"")
        self.due = 0.0  # deadline of the client
        self.ends = False  # the connection closes after the unsent bytes
        self.is_lingering = False  # no more is sent; bytes of the client are discarded

    def read(self) -> bytes | None:
        """Return the bytes that arrived: empty at the end of the connection, None for none yet."""
        try:
            return self.sock.recv(READ_BYTES)
        except NOT_NOW:
            return None
        except OSError:
            return b""

    @property
    def is_quiet(self) -> bool:
        """No bytes wait to be read, and no complete request waits for a thread."""
        if self.reader.complete and not self.unsent:
            return False
        arrived = select.poll()
        arrived.register(self.sock, select.POLLIN)
        return not arrived.poll(0)

    def is_gone(self) -> bool:
        """Return whether the client has closed the connection, or its side of it."""
        closed = select.poll()
        closed.register(self.sock, select.POLLRDHUP)
        return bool(closed.poll(0))

    def send(self, response: bytes) -> bool:
        """Send a response as far as the client takes it; False if it cannot be sent.

        The rest stays in `unsent`. It counts towards the bound of the process.
        """
        try:
            sent = self.sock.send(response)
        except NOT_NOW:
            sent = 0
        except OSError:
            return False
        if sent < len(response):
            self.unsent = memoryview(response)[sent:]
            return self.held.add(len(self.unsent))
        return True

    def send_rest(self) -> bool:
        """Send more of the response; False if it cannot be sent."""
        try:
            sent = self.sock.send(self.unsent)
        except NOT_NOW:
            return True
        except OSError:
            return False
        self.held.take_back(sent)
        self.unsent = self.unsent[sent:]
        return True

    def close(self) -> None:
        """Close the socket and release the bytes that the process held for the client."""
        self.held.take_back(len(self.unsent))
        self.unsent = memoryview(b"")
        self.reader.discard()
        self.sock.close()


def base_environ(sock: socket.socket, client: str) -> Environ:
    """Return the WSGI variables that all requests of a connection share."""
    server = sock.getsockname()
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REMOTE_ADDR": client,
        "SCRIPT_NAME": "",
        SERVED: True,
        "SERVER_NAME": server[0] if isinstance(server, tuple) else "localhost",
        "SERVER_PORT": str(server[1]) if isinstance(server, tuple) else "0",
        "wsgi.errors": sys.stderr,
        "wsgi.multiprocess": True,
        "wsgi.multithread": True,
        "wsgi.run_once": False,
        "wsgi.url_scheme": "https" if isinstance(sock, ssl.SSLSocket) else "http",
        "wsgi.version": (1, 0),
    }
