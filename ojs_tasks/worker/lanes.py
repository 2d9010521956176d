"""The threads for synchronous code of attempts on the event loop, with their database connections.

asgiref runs `sync_to_async` calls, and so Django's asynchronous ORM, in one thread per context.
With a context per attempt each attempt would hold a thread and a connection. So attempts share a
few contexts, here called lanes. An attempt with synchronous middleware has a lane of its own: it
holds the thread until the handler has ended.
"""

from concurrent.futures import Executor, wait
from contextvars import Context
from typing import Final

from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.db import close_old_connections, connections

SHARED: Final = 4  # lanes of the attempts without synchronous steps

Lane = ThreadSensitiveContext


class Lanes:
    """The lanes of one process; for the thread of its event loop."""

    def __init__(self) -> None:
        """Begin without a thread: asgiref starts one at the first call in a lane."""
        self._shared = [Lane() for _ in range(SHARED)]
        self._turn = 0
        self._own: list[Lane] = []
        self._free: list[Lane] = []

    def take(self, *, is_own: bool) -> Lane:
        """Return the lane of an attempt; with `is_own` no other attempt has it meanwhile."""
        if not is_own:
            self._turn = (self._turn + 1) % SHARED
            return self._shared[self._turn]
        if not self._free:
            self._free.append(Lane())
            self._own.append(self._free[-1])
        return self._free.pop()

    def give_back(self, lane: Lane, *, is_own: bool, has_failed: bool) -> None:
        """Take the lane of an attempt that ended; after a failure its connection may be broken."""
        executor = _executor_of(lane)
        if has_failed and executor is not None:
            executor.submit(close_old_connections)
        if is_own:
            self._free.append(lane)

    def close(self, timeout_s: float) -> None:
        """Let each thread close its connections and end, after its current call; wait for that."""
        executors = [_executor_of(lane) for lane in (*self._shared, *self._own)]
        started = [executor for executor in executors if executor is not None]
        wait([executor.submit(connections.close_all) for executor in started], timeout_s)
        for executor in started:
            executor.shutdown(wait=False)


def enter(lane: Lane, variables: Context) -> None:
    """Let code with these context variables use the lane."""
    variables.run(SyncToAsync.thread_sensitive_context.set, lane)


def _executor_of(lane: Lane) -> Executor | None:
    return SyncToAsync.context_to_thread_executor.get(lane)
