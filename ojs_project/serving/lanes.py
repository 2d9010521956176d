"""Where complete requests wait for a thread."""

import threading
from collections import deque

from ojs_project.serving.connections import Connection


class Lane:
    """Requests that at most `threads` threads answer at once; the others wait in order."""

    __slots__ = ("_busy", "_lock", "_threads", "waiting")

    def __init__(self, threads: int) -> None:
        """Have nothing to do."""
        self._lock = threading.Lock()
        self._threads, self._busy = threads, 0
        self.waiting: deque[Connection] = deque()

    def enter(self, connection: Connection) -> bool:
        """Tell whether the calling thread shall answer; else the connection waits."""
        with self._lock:
            if self._busy < self._threads:
                self._busy += 1
                return True
            self.waiting.append(connection)
            return False

    def leave(self) -> Connection | None:
        """Return the connection that the calling thread shall answer next."""
        with self._lock:
            if self.waiting:
                return self.waiting.popleft()
            self._busy -= 1
            return None

    def withdraw(self, due: float) -> list[Connection]:
        """Return those that have waited for too long; they wait no more."""
        late: list[Connection] = []
        with self._lock:
            while self.waiting and self.waiting[0].due <= due:
                late.append(self.waiting.popleft())
        return late
