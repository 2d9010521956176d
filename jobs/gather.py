"""Combine requests to the database that come at the same time.

While a statement runs, other requests of this process wait together. When it returns, one statement
runs for all of them. A request that finds no running statement starts at once. No request waits
longer than `PATIENCE_S` for a statement that is not its own, so slow commits do not form a queue.

A thread can wait for its answer (`ask`), or leave a function that gets the answer (`submit`). A
thread that submits collects: the statement starts when the thread has no further request at hand
(`start_collected`). So one thread serves many requests with one statement.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import monotonic
from typing import Any, Generic, TypeVar

from jobs import baton

PATIENCE_S = 0.005
MOST = 64  # items of a group

Item = TypeVar("Item")
Answer = TypeVar("Answer")
T = TypeVar("T")
U = TypeVar("U")

_collecting: "set[Gathering[Any, Any]]" = set()  # with items that no thread has started
_crowded: "set[Gathering[Any, Any]]" = set()  # with items that wait for a running statement


class _Seat(Generic[Item, Answer]):
    """One item and its answer; `done` gets the answer if no thread waits for it."""

    __slots__ = ("answers", "called", "done", "item", "leads", "problem", "since")

    def __init__(self, item: Item, done: Callable[["Outcome[Answer]"], None] | None) -> None:
        self.item = item
        self.done = done
        self.leads = False
        self.answers: Sequence[Answer] = ()
        self.problem: Exception | None = None
        self.since = 0.0
        if done is None:
            self.called = Lock()
            self.called.acquire()  # released when the thread has an answer or has to lead


Outcome = Callable[[], Answer]  # returns the answer, or raises the problem


class Gathering(Generic[Item, Answer]):
    """Runs items in groups.

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
        baton.pass_on()  # statements of other threads may take long
        seat: _Seat[Item, Answer] = _Seat(item, None)
        if group := self._join(seat):
            self._lead(group)
        return self._outcome(seat)

    def submit(self, item: Item, done: Callable[[Outcome[Answer]], None]) -> None:
        """Collect an item; `done` gets its outcome in the thread that runs the statement."""
        seat = _Seat(item, done)
        seat.since = monotonic()
        with self._lock:
            self._waiting.append(seat)
            (_crowded if self._under_way else _collecting).add(self)

    def start(self) -> None:
        """Run the collected items, unless a statement runs: then they follow it."""
        with self._lock:
            _collecting.discard(self)
            if self._under_way or not self._waiting:
                return
            self._under_way = 1
            group = self._taken()
        self._lead(group)

    def start_late(self, now: float) -> None:
        """Run the items that have waited for too long beside the running statement."""
        with self._lock:
            if not self._waiting:
                _crowded.discard(self)
                return
            if self._waiting[0].since + PATIENCE_S > now:
                return
            self._under_way += 1
            group = self._taken()
        self._lead(group)

    def _join(self, seat: _Seat[Item, Answer]) -> list[_Seat[Item, Answer]]:
        """Return the group that this thread has to run; empty if another thread ran its item."""
        with self._lock:
            if not self._under_way:
                self._under_way = 1
                return [seat, *self._taken()]
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
        taken, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        return taken

    def _lead(self, group: list[_Seat[Item, Answer]]) -> None:
        """Run a group, and the groups that gather meanwhile without a thread of their own."""
        while group:
            following: list[_Seat[Item, Answer]] = []
            try:
                self._go(group)
            finally:
                following = self._leave(group)
            group = following

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

    def _leave(self, group: Sequence[_Seat[Item, Answer]]) -> list[_Seat[Item, Answer]]:
        """Release or answer the group; returns the group that this thread must run next."""
        following: list[_Seat[Item, Answer]] = []
        with self._lock:
            leader = next((seat for seat in self._waiting if seat.done is None), None)
            if leader is not None:
                self._waiting.remove(leader)
                leader.leads = True
            elif self._waiting:
                following = self._taken()
            else:
                self._under_way -= 1
        if leader is not None:
            leader.called.release()
        for seat in group:
            if seat.done is None:
                seat.called.release()
        for seat in group:
            if seat.done is not None:
                seat.done(lambda seat=seat: self._outcome(seat))  # type: ignore[misc]
        return following

    def _outcome(self, seat: _Seat[Item, Answer]) -> Answer:
        if seat.problem is not None:
            raise seat.problem
        return (seat.answers or self._run([seat.item]))[0]


class Later(Generic[T]):
    """A result for which one item of a gathering is missing; `finish` makes it of the outcome."""

    __slots__ = ("_finish", "_gathering", "_item")

    def __init__(
        self, gathering: Gathering[Any, Any], item: Any, finish: Callable[[Outcome[Any]], T]
    ) -> None:
        """Begin nothing yet."""
        self._gathering, self._item, self._finish = gathering, item, finish

    def then(self, more: Callable[[T], U]) -> "Later[U]":
        """Return a later result that is made of this one."""
        finish = self._finish
        return Later(self._gathering, self._item, lambda outcome: more(finish(outcome)))

    def now(self) -> T:
        """Wait for the result. Raises what its parts raise."""
        return self._finish(lambda: self._gathering.ask(self._item))

    def submit(self, done: Callable[[Outcome[T]], None]) -> None:
        """Let `done` get the result, which raises nothing by itself."""
        finish = self._finish
        self._gathering.submit(self._item, lambda outcome: done(lambda: finish(outcome)))


def now(found: "T | Later[T]") -> T:
    """Return a result, and wait for it if it is not there yet."""
    return found.now() if isinstance(found, Later) else found


def start_collected() -> None:
    """Run the items that threads have collected."""
    while _collecting:
        for gathering in _copied(_collecting):
            gathering.start()


def prepare_wait() -> None:
    """Prepare this thread for a wait of any length: others must not depend on it."""
    start_collected()
    baton.pass_on()


def start_late() -> None:
    """Run the items that have waited for too long."""
    if _crowded:
        now_s = monotonic()
        for gathering in _copied(_crowded):
            gathering.start_late(now_s)


def is_crowded() -> bool:
    """Return whether items wait for running statements."""
    return bool(_crowded)


def _copied(gatherings: "Iterable[Gathering[Any, Any]]") -> "list[Gathering[Any, Any]]":
    while True:
        try:
            return list(gatherings)
        except RuntimeError:  # another thread has just added one
            continue
