"""All connections of a process: which wait for their client, and how many there may be."""

import contextlib
import select
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from jobs.domain.errors import BackendUnavailable, OJSError, RateLimited
from ojs_project.serving.connections import Connection
from ojs_project.serving.limits import Limits

BUSY: Final = "the server is busy"
TRIED: Final = 200  # connections that are looked at to make room for one
RETRY: Final = {"Retry-After": "1"}
READABLE: Final = select.EPOLLIN | select.EPOLLONESHOT
WRITABLE: Final = select.EPOLLOUT | select.EPOLLONESHOT


class Register:
    """Who owns a connection: the thread that took it, or nobody while it waits for its client."""

    def __init__(
        self, limits: Limits, epoll: select.epoll, is_trusted: Callable[[str], bool]
    ) -> None:
        """Have no connection yet."""
        self._limits, self._epoll, self._is_trusted = limits, epoll, is_trusted
        self._lock = threading.RLock()  # of `connections` and `_clients`
        self.connections: dict[int, Connection] = {}
        self._clients: dict[str, dict[int, Connection]] = {}
        self._armed: dict[int, Connection] = {}  # those that wait, the longest first

    def add(self, connection: Connection) -> OJSError | None:
        """Count a new connection; returns why it cannot be served.

        Connections that wait for their client make room: idle ones keep nobody out.
        """
        number, client = connection.sock.fileno(), connection.client
        limits = self._limits
        with self._lock:
            others = self._clients.setdefault(client, {})
            has_room = len(self.connections) < limits.connections or self.evict()
            may_come = (
                len(others) < limits.client_connections
                or self._is_trusted(client)
                or self._evict(others)
            )
            self.connections[number] = others[number] = connection
            self._clients[client] = others  # the last of the others may have been evicted
        if not has_room:
            return BackendUnavailable(BUSY, headers=RETRY)
        if not may_come:
            return RateLimited("all connections of this client are busy", headers=RETRY)
        return None

    def release(self, connection: Connection) -> None:
        """Count a connection no more among those of its client."""
        with self._lock:
            others = self._clients.get(connection.client, {})
            others.pop(connection.sock.fileno(), None)
            if not others:
                self._clients.pop(connection.client, None)

    def close(self, connection: Connection) -> None:
        """Close a connection that the caller owns."""
        if connection.sock.fileno() < 0:
            return
        with self._lock:
            self.connections.pop(connection.sock.fileno(), None)
            self.release(connection)
        connection.close()

    def evict(self) -> bool:
        """Close a connection that waits for its client, the longest first; False if none does."""
        return self._evict(self._armed)

    def _evict(self, candidates: dict[int, Connection]) -> bool:
        for number in islice(list(candidates), TRIED):
            connection = self.take(number)
            if connection is None:
                continue
            if connection.is_quiet:
                self.close(connection)
                return True
            self.arm_again(connection)  # its request is there, and no thread has come to it yet
        return False

    def arm(self, connection: Connection, events: int) -> None:
        """Give the connection to whichever thread finds that it can go on."""
        number = connection.sock.fileno()
        self._armed[number] = connection
        with contextlib.suppress(OSError):  # `take_all` may have led to its end already
            self._epoll.modify(number, events)

    def arm_again(self, connection: Connection) -> None:
        """Give back a connection that was taken from those that wait."""
        self.arm(connection, WRITABLE if connection.unsent else READABLE)

    def take(self, number: int) -> Connection | None:
        """Own a connection that waits; None if it does not, or another thread was first."""
        return self._armed.pop(number, None)

    def take_all(self, due: float) -> Iterator[Connection]:
        """Own the connections whose deadline is over by then, one after the other."""
        for number in list(self._armed):
            candidate = self._armed.get(number)
            if candidate is not None and candidate.due <= due:
                connection = self.take(number)
                if connection is not None and connection.due <= due:
                    yield connection
                elif connection is not None:  # another thread had it meanwhile
                    self.arm_again(connection)
