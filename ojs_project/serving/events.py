"""The wait of a thread: for the baton, and then for an event of a connection.

A thread with the baton begins the statements that requests share, when no further request has
arrived or many have joined.
"""

import logging
import select
import threading
from typing import Final

from jobs import baton
from jobs.gather import MOST, PATIENCE_S, is_crowded, start_collected, start_late

logger = logging.getLogger("ojs.http")

FOREVER: Final = -1


class Events:
    """The events of all connections of a process; each event goes to one thread."""

    def __init__(self, epoll: select.epoll) -> None:
        """Begin with a free baton."""
        self._poll = epoll.poll
        self._baton = threading.Lock()
        self._joined = 0  # events since the holder of the baton last started statements

    def next(self) -> list[int]:
        """Wait, and return the number of a connection that is ready; it may return none.

        A fault must not end the thread, which may hold the baton.
        """
        try:
            return [number for number, _ in self._next()]
        except Exception:
            logger.exception("http.broken")
            return []

    def _next(self) -> list[tuple[int, int]]:
        if not baton.is_held():
            self._take_baton()
        events = self._poll(0, 1)
        if events and self._joined < MOST:  # requests that have arrived join the statements
            self._joined += 1
            return events
        self._joined = 0
        start_collected()
        if not events:
            if not baton.is_held():  # this thread had to wait, and has passed the baton on
                return []
            events = self._poll(PATIENCE_S if is_crowded() else FOREVER, 1)
        start_late()
        return events

    def _take_baton(self) -> None:
        start_collected()
        # the holder may wait for an event, so this thread starts its own late items
        if not self._baton.acquire(timeout=PATIENCE_S if is_crowded() else 0):
            start_late()
            self._baton.acquire()
        baton.hold(self._baton.release)
