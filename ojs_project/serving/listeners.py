"""The listening sockets of a process: they accept connections until the process drains."""

import contextlib
import errno
import logging
import select
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Final

from ojs_project.serving.register import READABLE

logger = logging.getLogger("ojs.http")

ACCEPTED: Final = 16  # connections that a thread accepts in a row
EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Listeners:
    """Accepts connections, and hands each to `begin` with the address of its client."""

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        epoll: select.epoll,
        tls: ssl.SSLContext | None,
        *,
        begin: Callable[[socket.socket, str], None],
        evict: Callable[[], object],
    ) -> None:
        """Take the sockets. `evict` closes idle connections: the process needs descriptors."""
        self._sockets = {listener.fileno(): listener for listener in sockets}
        self._epoll, self._tls = epoll, tls
        self._begin, self._evict = begin, evict
        self._paused: list[int] = []  # while the process has no free file descriptor
        self._is_closed = False

    def __contains__(self, number: int) -> bool:
        """Return whether a file descriptor is that of a listening socket."""
        return number in self._sockets

    def start(self) -> None:
        """Wait for clients."""
        for number, listener in self._sockets.items():
            listener.settimeout(0)
            self._epoll.register(number, READABLE)

    def close(self) -> None:
        """Accept no more connections."""
        self._is_closed = True
        for number, listener in self._sockets.items():
            with contextlib.suppress(OSError):
                self._epoll.unregister(number)
            listener.close()

    def resume(self) -> None:
        """Wait for clients again after the process had no free file descriptor."""
        while self._paused:
            self._wait(self._paused.pop())

    def accept(self, number: int) -> None:
        """Accept the clients that wait at one socket, up to `ACCEPTED`."""
        listener = self._sockets[number]
        for _ in range(ACCEPTED):
            try:
                sock, address = listener.accept()
            except OSError as problem:  # no client waits, or it has left
                if problem.errno in EXHAUSTED:
                    logger.warning("http.accept_failed", extra={"error": str(problem)})
                    self._evict()
                    self._paused.append(number)
                    return
                break
            try:
                self._prepare(sock, str(address[0]) if isinstance(address, tuple) else "")
            except OSError:
                sock.close()
        self._wait(number)

    def _prepare(self, sock: socket.socket, client: str) -> None:
        sock.settimeout(0)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        self._begin(sock, client)

    def _wait(self, number: int) -> None:
        if not self._is_closed:
            with contextlib.suppress(OSError):
                self._epoll.modify(number, READABLE)
