"""Round trips to the database that have begun: the thread that reads the answer need not wait.

A statement that requests share begins as a trip. The HTTP server watches the connection together
with the connections of its clients, and reads requests meanwhile: see jobs/gather.py. Any other
caller waits for the result.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class Line(Protocol):
    """The connection of a trip, while an answer is missing."""

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable."""

    def is_over(self) -> bool:
        """Read what has arrived, without waiting; True if the answer is whole or cannot come."""


class Trip(Generic[T_co]):
    """A round trip; `finish` waits for its answer and returns the result, or raises."""

    __slots__ = ("_finish", "line")

    def __init__(self, line: Line | None, finish: Callable[[], T_co]) -> None:
        """Take a line; None: the answer is there."""
        self.line = line
        self._finish = finish

    def result(self) -> T_co:
        """Return the result, once. Waits if the answer is missing. Raises what its parts raise."""
        return self._finish()

    def then(self, more: Callable[[T_co], U]) -> "Trip[U]":
        """Return a trip with another result, which is made of the result of this one."""
        finish = self._finish
        return Trip(self.line, lambda: more(finish()))

    def at_end(self, clean_up: Callable[[], None]) -> "Trip[T_co]":
        """Return a trip that calls a function when its result was returned or raised."""
        finish = self._finish

        def finished() -> T_co:
            try:
                return finish()
            finally:
                clean_up()

        return Trip(self.line, finished)
