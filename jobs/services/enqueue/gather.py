"""Combine requests that several threads make to the database at the same time.

While a statement runs, other threads of this process wait together. When it returns, the first
waiting thread runs one statement for all of them. A thread that finds no running statement starts
at once. No thread waits longer than `PATIENCE_S` to start, so slow commits do not form a queue.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

PATIENCE_S = 0.005

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class _Seat(Generic[Item, Answer]):
    """The item of one thread, and its answer."""

    __slots__ = ("answers", "called", "item", "leads", "problem")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.called = Lock()
        self.called.acquire()  # released when the thread has an answer or has to lead
        self.leads = False
        self.answers: Sequence[Answer] = ()
        self.problem: Exception | None = None


class Gathering(Generic[Item, Answer]):
    """Runs the items of several threads in groups.

    `run` answers items in their order, all or none. An error in `common` is the error of the whole
    group. After another error each item runs alone, so an item fails only by itself.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Answer]],
        common: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        """Start without a running group."""
        self._run = run
        self._common = common
        self._lock = Lock()  # for a few assignments, never while a statement runs
        self._under_way = 0  # running groups
        self._waiting: list[_Seat[Item, Answer]] = []

    def ask(self, item: Item) -> Answer:
        """Return the answer to `item`. Raises what `run` raises."""
        seat: _Seat[Item, Answer] = _Seat(item)
        if group := self._join(seat):
            try:
                self._go(group)
            finally:
                self._leave(group)
        if seat.problem is not None:
            raise seat.problem
        return (seat.answers or self._run([item]))[0]

    def _join(self, seat: _Seat[Item, Answer]) -> list[_Seat[Item, Answer]]:
        """Return the group that this thread has to run; empty if another thread ran its item."""
        with self._lock:
            if not self._under_way:
                self._under_way = 1
                return [seat]
            self._waiting.append(seat)
        if not seat.called.acquire(timeout=PATIENCE_S):
            with self._lock:
                if seat in self._waiting:
                    self._under_way += 1
                    return self._taken()
            seat.called.acquire()
        if not seat.leads:
            return []
        with self._lock:
            return [seat, *self._taken()]

    def _taken(self) -> list[_Seat[Item, Answer]]:
        taken, self._waiting = self._waiting, []
        return taken

    def _go(self, group: Sequence[_Seat[Item, Answer]]) -> None:
        try:
            answers = self._run([seat.item for seat in group])
        except Exception as problem:
            if len(group) == 1 or isinstance(problem, self._common):
                for seat in group:
                    seat.problem = problem
        else:
            for seat, answer in zip(group, answers, strict=True):
                seat.answers = (answer,)

    def _leave(self, group: Sequence[_Seat[Item, Answer]]) -> None:
        """Start the first waiting thread, then release the threads of this group."""
        with self._lock:
            following = self._waiting.pop(0) if self._waiting else None
            if following is None:
                self._under_way -= 1
            else:
                following.leads = True
        if following is not None:
            following.called.release()
        for seat in group:
            seat.called.release()
