"""All connections of a process: their owners, their bounds, and the waits for clients."""

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
TRIED: Final = 200  # connections that are checked to make room for one
RETRY: Final = {"Retry-After": "1"}
READABLE: Final = select.EPOLLIN | select.EPOLLONESHOT
WRITABLE: Final = select.EPOLLOUT | select.EPOLLONESHOT


class Register:
    """The owners of connections; the register owns connections that wait for their client."""

    def __init__(
        self, limits: Limits, epoll: select.epoll, is_trusted: Callable[[str], bool]
    ) -> None:
        """Create a register without connections."""
        self._limits, self._epoll, self._is_trusted = limits, epoll, is_trusted
        self._lock = threading.RLock()  # of `connections` and `_clients`
        self.connections: dict[int, Connection] = {}
        self._clients: dict[str, dict[int, Connection]] = {}
        self._armed: dict[int, Connection] = {}  # they wait for their client, longest first

    def add(self, connection: Connection) -> OJSError | None:
        """Count a new connection; returns the reason if it cannot be served.

        Connections that wait for their client are closed to make room, so idle connections block no
        new client.
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
            self._clients[client] = others  # the eviction may have removed the entry of this client
        if not has_room:
            return BackendUnavailable(BUSY, headers=RETRY)
        if not may_come:
            return RateLimited("this client has too many open connections", headers=RETRY)
        return None

    def release(self, connection: Connection) -> None:
        """Remove a connection from the count of its client."""
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
        """Close the idle connection that has waited longest for its client; False if none waits."""
        return self._evict(self._armed)

    def _evict(self, candidates: dict[int, Connection]) -> bool:
        for number in islice(list(candidates), TRIED):
            connection = self.take(number)
            if connection is None:
                continue
            if connection.is_quiet:
                self.close(connection)
                return True
            self.arm_again(connection)  # its request has arrived, and no thread has taken it yet
        return False

    def arm(self, connection: Connection, events: int) -> None:
        """Wait for events; the thread that finds the connection ready takes it."""
        number = connection.sock.fileno()
        self._armed[number] = connection
        with contextlib.suppress(OSError):  # `take_all` may have ended it already
            self._epoll.modify(number, events)

    def arm_again(self, connection: Connection) -> None:
        """Return a taken connection to the waiting connections."""
        goes_on = connection.unsent or connection.reader.complete
        self.arm(connection, WRITABLE if goes_on else READABLE)

    def take(self, number: int) -> Connection | None:
        """Own a waiting connection; None if it does not wait, or if another thread was first."""
        return self._armed.pop(number, None)

    def take_all(self, due: float) -> Iterator[Connection]:
        """Own the connections whose deadline is at or before `due`, one after the other."""
        for number in list(self._armed):
            candidate = self._armed.get(number)
            if candidate is not None and candidate.due <= due:
                connection = self.take(number)
                if connection is not None and connection.due <= due:
                    yield connection
                elif connection is not None:  # another thread owned it meanwhile
                    self.arm_again(connection)
