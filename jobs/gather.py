"""Combine requests to the database that come at the same time.

While a statement runs, other requests of this process wait together. When it returns, one statement
runs for all of them. If it takes longer than `PATIENCE_S` and there is room for a trip, they get a
statement of their own beside it. So slow commits do not form a queue.

A thread can wait for its answer (`ask`): it starts at once if no statement runs. Or it leaves a
function that gets the answer (`submit`). A thread that submits collects: the statement starts when
the thread has no further request at hand (`start_collected`). So one thread serves many requests
with one statement.

The HTTP server watches the connections of statements that were started so (`watch_by`). No thread
waits for these statements, and several of them run at the same time.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from jobs import baton
from jobs.trips import Line, Trip

logger = logging.getLogger("ojs.gather")

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


class Watch(Protocol):
    """The waits for the trips of a process."""

    def take_room(self) -> bool:
        """Reserve the room for a trip before it begins; False if there is none."""

    def give_room(self) -> None:
        """Return the room of a trip."""

    def watch(self, line: Line, arrived: Callable[[], None]) -> None:
        """Call `arrived` when the trip is over."""


class _Watcher:
    only: Watch | None = None


def watch_by(watch: Watch | None) -> None:
    """Let `watch` wait for the trips of collected items in this process; None: threads wait."""
    _Watcher.only = watch


def _take_room() -> bool:
    return _Watcher.only is None or _Watcher.only.take_room()


class Gathering(Generic[Item, Answer]):
    """Runs items in groups.

    `begin` begins a trip whose result answers items in their order, all or none. An error in
    `common` is the error of the whole group. After another error each item runs alone, so an item
    fails only by itself. A group has at most `most` items. Items wait while `at_once` groups run.
    """

    def __init__(
        self,
        begin: Callable[[Sequence[Item]], Trip[Sequence[Answer]]],
        common: type[Exception] | tuple[type[Exception], ...] = (),
        *,
        most: int = MOST,
        at_once: int = 1,
    ) -> None:
        """Start without a running group."""
        self._most, self._at_once = most, at_once
        self._begin = begin
        self._common = common
        self._lock = Lock()  # for a few assignments, never while a statement runs
        self._under_way = 0  # running groups
        self._waiting: list[_Seat[Item, Answer]] = []

    def ask(self, item: Item) -> Answer:
        """Return the answer to `item`. Raises the errors of its trip."""
        baton.pass_on()  # statements of other threads may take long
        seat: _Seat[Item, Answer] = _Seat(item, None)
        if group := self._join(seat):
            self._lead(group)
        return self._outcome(seat)

    def submit(self, item: Item, done: Callable[[Outcome[Answer]], None]) -> None:
        """Collect an item; `done` gets its outcome in the thread that reads the answer."""
        seat = _Seat(item, done)
        seat.since = monotonic()
        with self._lock:
            self._waiting.append(seat)
            (_collecting if self._under_way < self._at_once else _crowded).add(self)

    def start(self) -> bool:
        """Run collected items; False if there is no room for a trip.

        If too many statements of the gathering run, the items follow one of these.
        """
        with self._lock:
            if not self._waiting or self._under_way >= self._at_once:
                _collecting.discard(self)
                if self._waiting:
                    _crowded.add(self)
                return True
            if not _take_room():
                return False
            self._under_way += 1
            group = self._taken(self._most)
        self._launch(group)
        return True

    def start_late(self, now: float) -> None:
        """Run the items that have waited for too long beside the running statement."""
        with self._lock:
            if not self._waiting:
                _crowded.discard(self)
                return
            if self._waiting[0].since + PATIENCE_S > now or not _take_room():
                return
            self._under_way += 1
            group = self._taken(self._most)
        self._launch(group)

    def _join(self, seat: _Seat[Item, Answer]) -> list[_Seat[Item, Answer]]:
        """Return the group that this thread has to run; empty if another thread ran its item."""
        with self._lock:
            if self._under_way < self._at_once:
                self._under_way += 1
                return [seat, *self._taken(self._most - 1)]
            self._waiting.append(seat)
        if not seat.called.acquire(timeout=PATIENCE_S):
            with self._lock:
                if seat in self._waiting:
                    self._under_way += 1
                    self._waiting.remove(seat)
                    return [seat, *self._taken(self._most - 1)]
            seat.called.acquire()
        if not seat.leads:
            return []
        with self._lock:
            return [seat, *self._taken(self._most - 1)]

    def _taken(self, number: int) -> list[_Seat[Item, Answer]]:
        taken, self._waiting = self._waiting[:number], self._waiting[number:]
        return taken

    def _launch(self, group: list[_Seat[Item, Answer]]) -> None:
        """Run a group for which this thread need not wait, if its trip can be watched."""
        watch = _Watcher.only
        trip = self._begun(group)
        if watch is None:
            self._lead(self._landed(group, trip))
            return

        def arrived() -> None:
            watch.give_room()
            self._lead(self._landed(group, trip))

        if trip.line is None:
            arrived()
        else:
            watch.watch(trip.line, arrived)

    def _lead(self, group: list[_Seat[Item, Answer]]) -> None:
        """Run a group, and the groups that gather meanwhile without a thread of their own."""
        while group:
            group = self._landed(group, self._begun(group))

    def _begun(self, group: Sequence[_Seat[Item, Answer]]) -> Trip[Sequence[Answer]]:
        try:
            return self._begin([seat.item for seat in group])
        except Exception as problem:
            failed = problem  # Python deletes the name of a handler
            return Trip(None, lambda: _raise(failed))

    def _landed(
        self, group: Sequence[_Seat[Item, Answer]], trip: Trip[Sequence[Answer]]
    ) -> list[_Seat[Item, Answer]]:
        """Wait for a trip and answer its group; returns the group that this thread must run."""
        following: list[_Seat[Item, Answer]] = []
        try:
            answers = trip.result()
        except Exception as problem:
            if len(group) == 1 or isinstance(problem, self._common):
                for seat in group:
                    seat.problem = problem
        else:
            for seat, answer in zip(group, answers, strict=True):
                seat.answers = (answer,)
        finally:
            following = self._leave(group)
        return following

    def _leave(self, group: Sequence[_Seat[Item, Answer]]) -> list[_Seat[Item, Answer]]:
        """Release or answer the group; returns the group that this thread must run next."""
        with self._lock:
            leader, following = self._next()
        if leader is not None:
            leader.called.release()
        for seat in group:
            if seat.done is None:
                seat.called.release()
        for seat in group:
            if seat.done is not None:
                self._deliver(seat, seat.done)
        return following

    def _deliver(self, seat: _Seat[Item, Answer], done: Callable[[Outcome[Answer]], None]) -> None:
        """Call the function of an item; its fault must not keep the answers of the other items."""
        try:
            done(lambda: self._outcome(seat))
        except Exception:
            logger.exception("gather.failed")

    def _next(self) -> tuple[_Seat[Item, Answer] | None, list[_Seat[Item, Answer]]]:
        """Return the thread that has to lead, or else the group that this thread must run."""
        leader = next((seat for seat in self._waiting if seat.done is None), None)
        if leader is not None:
            self._waiting.remove(leader)
            leader.leads = True
            return leader, []
        if self._waiting and not (_Watcher.only and baton.is_held()):
            return None, self._taken(self._most)
        self._under_way -= 1
        if self._waiting:  # requests that have arrived join them
            _collecting.add(self)
        return None, []

    def _outcome(self, seat: _Seat[Item, Answer]) -> Answer:
        if seat.problem is not None:
            raise seat.problem
        return (seat.answers or self._begin([seat.item]).result())[0]


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
        """Collect the item; `done` gets a function that returns the result or raises its error."""
        finish = self._finish
        self._gathering.submit(self._item, lambda outcome: done(lambda: finish(outcome)))


def now(found: "T | Later[T]") -> T:
    """Return a result, and wait for it if it is not there yet."""
    return found.now() if isinstance(found, Later) else found


def _raise(problem: Exception) -> Any:
    raise problem


def start_collected() -> None:
    """Run the items that threads have collected."""
    while _collecting:
        for gathering in _copied(_collecting):
            if not gathering.start():  # the end of a trip makes room
                return


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
