"""What several threads ask of the database at the same time, asked at once.

While a request is on its way, others of this process wait together; when it is back, the first of
them goes for all. Nobody waits for company: who comes alone goes at once. And nobody waits longer
than `PATIENCE_S` for others, so where commits are slow, they do not take turns.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

PATIENCE_S = 0.005

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class _Seat(Generic[Item, Answer]):
    """What one thread asks."""

    __slots__ = ("answers", "called", "item", "leads", "problem")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.called = Lock()
        self.called.acquire()  # free as soon as there is something for its thread to do
        self.leads = False
        self.answers: Sequence[Answer] = ()
        self.problem: Exception | None = None


class Gathering(Generic[Item, Answer]):
    """Threads that go together.

    `run` answers items in their order, all or none. Where it raises one of `common`, it has failed
    for all of them; otherwise each goes again by itself, so that nobody pays for another.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Answer]],
        common: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        """Nobody is under way."""
        self._run = run
        self._common = common
        self._lock = Lock()  # for a few assignments, never while something runs
        self._under_way = 0  # groups
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
        """Return the group that this thread is to go for; none: another went for it."""
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
        """Let the first of those who wait go, then those of this group."""
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
