"""Round trips to the database that a process watches in the epoll instance of its clients."""

import select
from collections import deque
from collections.abc import Callable

from jobs.trips import Line
from ojs_project.serving.register import READABLE


class Trips:
    """Trips whose answers are missing, by the numbers of their sockets."""

    def __init__(self, epoll: select.epoll, most: int) -> None:
        """Begin without a trip. Each trip has a connection to the database: `most` bounds them."""
        self._epoll = epoll
        self._watched: dict[int, tuple[Line, Callable[[], None]]] = {}
        self._room = deque([None] * most)  # one element for each trip that may still begin

    def __contains__(self, number: int) -> bool:
        """Return whether a file descriptor is that of a trip."""
        return number in self._watched

    def take_room(self) -> bool:
        """Reserve the room for a trip before it begins; False if there is none."""
        try:
            self._room.pop()
        except IndexError:
            return False
        return True

    def give_room(self) -> None:
        """Return the room of a trip."""
        self._room.append(None)

    def watch(self, line: Line, arrived: Callable[[], None]) -> None:
        """Call `arrived` in the thread that reads the last part of the answer."""
        number = line.fileno()
        self._watched[number] = line, arrived
        try:
            self._wait(number)
        except OSError:  # the system has no memory for it: this thread waits for the answer
            del self._watched[number]
            arrived()

    def go_on(self, number: int) -> None:
        """Read what has arrived.

        The trip leaves `_watched` first: `is_over` may close a lost connection, and the system may
        give the socket's number to the next trip at once.
        """
        line, arrived = self._watched.pop(number)
        if line.is_over():
            arrived()
        else:
            self.watch(line, arrived)

    def finish(self) -> None:
        """Wait for all trips."""
        while self._watched:
            _, (_, arrived) = self._watched.popitem()
            arrived()

    def _wait(self, number: int) -> None:
        try:
            self._epoll.modify(number, READABLE)
        except FileNotFoundError:  # a new connection
            self._epoll.register(number, READABLE)
