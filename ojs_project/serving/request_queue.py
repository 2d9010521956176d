"""The queues in which complete HTTP requests wait for a thread."""

import threading
from collections import deque

from ojs_project.serving.connections import Connection


class RequestQueue:
    """Requests that at most `threads` threads answer at once; more requests wait in order."""

    __slots__ = ("_busy", "_lock", "_threads", "waiting")

    def __init__(self, threads: int) -> None:
        """Create an empty queue."""
        self._lock = threading.Lock()
        self._threads, self._busy = threads, 0
        self.waiting: deque[Connection] = deque()

    def enter(self, connection: Connection) -> bool:
        """Return whether the calling thread must answer now; otherwise the connection waits."""
        with self._lock:
            if self._busy < self._threads:
                self._busy += 1
                return True
            self.waiting.append(connection)
            return False

    def leave(self) -> Connection | None:
        """Return the connection that the calling thread must answer next."""
        with self._lock:
            if self.waiting:
                return self.waiting.popleft()
            self._busy -= 1
            return None

    def withdraw(self, due: float) -> list[Connection]:
        """Remove and return the connections that have waited for too long."""
        late: list[Connection] = []
        with self._lock:
            while self.waiting and self.waiting[0].due <= due:
                late.append(self.waiting.popleft())
        return late
