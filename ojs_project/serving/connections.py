"""A connection of a client: its socket, its requests, and what it has yet to read."""

import select
import socket
import ssl
import sys
from typing import Final

from jobs.api.media import SERVED
from ojs_project.serving.requests import Environ, Held, Reader

READ_BYTES: Final = 65_536  # that are read at once
NOT_NOW: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """A client's connection; one thread has it at a time."""

    __slots__ = (
        "client", "due", "ends", "held", "is_lingering", "reader", "sock", "unsent",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, client: str, reader: Reader, held: Held) -> None:
        """Take a socket that does not block."""
        self.sock = sock
        self.client = client  # address
        self.reader = reader
        self.held = held  # responses of the process
        self.unsent: memoryview = memoryview(b"")
        self.due = 0.0  # when the client has taken too long
        self.ends = False  # the connection closes behind what is unsent
        self.is_lingering = False  # nothing more is sent; what the client sends is thrown away

    def read(self) -> bytes | None:
        """Return what has arrived: nothing at the end of the connection, None for nothing yet."""
        try:
            return self.sock.recv(READ_BYTES)
        except NOT_NOW:
            return None
        except OSError:
            return b""

    @property
    def is_quiet(self) -> bool:
        """Nothing has arrived that is not read yet."""
        arrived = select.poll()
        arrived.register(self.sock, select.POLLIN)
        return not arrived.poll(0)

    def send(self, response: bytes) -> bool:
        """Send a response as far as the client takes it; False if it cannot be sent.

        The rest is in `unsent`. It counts towards the bound of the process.
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
        """Close the socket and give back what the process held for the client."""
        self.held.take_back(len(self.unsent))
        self.unsent = memoryview(b"")
        self.reader.discard()
        self.sock.close()


def base_environ(sock: socket.socket, client: str) -> Environ:
    """Return what the environ of every request of a connection has."""
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
