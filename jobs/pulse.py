"""Notice changes of the database, so that loops without work can rest.

One thread of a process looks at the running transactions. A transaction that writes has an id, so
the look differs when one has begun or ended. Only then the thread looks at the facts that loops
wait for: new events, a new configuration version, rows in tables that were empty, and due times.
It looks at the facts of a loop at most once per interval of the loop, and wakes only loops that
have work.

The same thread stores that the resting loops are alive.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Final, NamedTuple

from django.db import connections

from jobs import queries
from jobs.extensions import Loop

LOOK_S = 0.25
FACTS_S = 0.5  # the shortest time between two reads of facts that a look does not include
REST_S: Final = 30.0  # the longest rest


class Seen(NamedTuple):
    """The latest look's facts for loops that read events."""

    events: int  # another number after an event or a change of the configuration
    version: int | None  # of the configuration; None: no look yet


@dataclass(slots=True, eq=False)
class _Rest:
    """The rest of one loop. It ends at `until`, which changes meanwhile."""

    loop: Loop
    least_until: float
    seen: "Seen"  # when the last run began
    until: float = inf
    is_over: bool = False
    is_stale: bool = True  # a transaction began or ended since the last look at the facts
    looked_at: float = -inf
    has_rows: bool = False
    changed: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until the end."""
        latest = monotonic() + REST_S
        while not self.is_over and (left := min(self.until, latest) - monotonic()) > 0:
            self.changed.wait(left)
            self.changed.clear()

    def end(self) -> None:
        """End now."""
        self.is_over = True
        self.changed.set()

    def end_when_due(self, due_ms: int | None) -> None:
        """End in `due_ms`, but not before the shortest rest is over; None: nothing is due."""
        before = self.until
        self.until = until = (
            inf if due_ms is None else max(self.least_until, monotonic() + (due_ms + 1) / 1000)
        )
        if until < before:
            self.changed.set()

    def needs_look(self, at: float) -> bool:
        """Return whether to look at the facts that this loop waits for."""
        pause_s = max(self.loop.interval_ms / 1000, 0.0 if self.loop.due_in_look else FACTS_S)
        return self.is_stale and at >= self.looked_at + pause_s


class Pulse:
    """The looks of a process, and its resting loops."""

    def __init__(self, note_s: float) -> None:
        """Begin without a look. `note_s` is the time between two notes of resting loops."""
        self._note_s = note_s
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._looked: queries.Look | None = None
        self._events = 0
        self._until = 0  # events may become visible until all transactions below have ended
        self._rests: dict[str, _Rest] = {}  # by the name of the loop
        self._paused: set[str] = set()
        self._was_paused: set[str] = set()  # since the last note
        self._noted = monotonic()

    @property
    def seen(self) -> Seen:
        """The facts of the latest look; take them before a run of a loop."""
        looked = self._looked
        return Seen(self._events, looked and looked.version)

    def run(self) -> None:
        """Look until `stop`; while the database is away all loops are awake."""
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                if self._rests:
                    self._look()
                if monotonic() - self._noted >= self._note_s:
                    self._note()
            except Exception:  # the loops report it
                connections.close_all()
                self._wake_all()
            pause = min(LOOK_S, self._note_s)
        connections.close_all()

    def stop(self) -> None:
        """End all rests."""
        self._stopped.set()
        with self._lock:
            for rest in self._rests.values():
                rest.end()

    @contextmanager
    def paused(self, loop: str) -> Iterator[None]:
        """Note a loop as alive while this context lasts."""
        self._paused.add(loop)
        self._was_paused.add(loop)
        try:
            yield
        finally:
            self._paused.discard(loop)

    def rest(self, loop: Loop, least_s: float, seen: Seen) -> None:
        """Rest for `least_s`, and then until there is work for the loop.

        `seen` is the property of this name when the last run began. A loop with due times rests
        until the next due time.
        """
        rest = _Rest(loop, monotonic() + least_s, seen)
        with self._lock:
            if self._stopped.is_set():
                return
            self._rests[loop.name] = rest
        try:
            if loop.due_in_ms is not None:  # after the entry: no look can miss a row
                rest.looked_at, rest.is_stale = inf, False
                rest.end_when_due(loop.due_in_ms())
                rest.looked_at = monotonic()
            rest.wait()
        finally:
            with self._lock:
                del self._rests[loop.name]

    def _look(self) -> None:
        before, self._looked = self._looked, queries.look()
        now = self._looked
        if before is None or not now.is_as(before):
            self._note_change(before, now)
        elif self._until and now.oldest_id == now.next_id:
            # No transaction runs. Until one takes an id, `oldest_id` stays below `_until`.
            queries.take_id()
        self._end_rests(now)

    def _note_change(self, before: queries.Look | None, now: queries.Look) -> None:
        is_new = before is None or (before.event, before.version) != (now.event, now.version)
        if is_new:
            # an event may be stamped with the next id: see models.Event
            self._until = now.next_id + 1
        if is_new or self._until:
            self._events += 1
        if self._until and now.oldest_id >= self._until:
            self._until = 0
        with self._lock:
            for rest in self._rests.values():
                rest.is_stale = True

    def _end_rests(self, now: queries.Look) -> None:
        at = monotonic()
        with self._lock:
            rests = list(self._rests.values())
        stale = [rest for rest in rests if rest.needs_look(at)]
        for rest in stale:
            rest.looked_at = at
            rest.is_stale = False
        self._look_for_rows(stale)
        for rest in stale:
            loop = rest.loop
            if loop.due_in_look:
                rest.end_when_due(getattr(now, loop.due_in_look))
            elif loop.due_in_ms is not None:
                is_empty = loop.while_rows_of and not rest.has_rows
                rest.end_when_due(None if is_empty else loop.due_in_ms())
        for rest in rests:
            if rest.until == inf and self._has_work(rest, now):
                rest.end_when_due(0)

    def _look_for_rows(self, rests: list[_Rest]) -> None:
        waiting = [rest for rest in rests if rest.loop.while_rows_of]
        if waiting:
            found = queries.have_rows([rest.loop.while_rows_of for rest in waiting])
            for rest, has_rows in zip(waiting, found, strict=True):
                rest.has_rows = has_rows

    def _has_work(self, rest: _Rest, now: queries.Look) -> bool:
        loop = rest.loop
        if loop.reads_events and rest.seen.version != now.version:
            return True
        if loop.while_rows_of and not rest.has_rows:
            return False
        if loop.reads_events:
            return rest.seen.events != self._events
        return bool(loop.while_rows_of)

    def _wake_all(self) -> None:
        with self._lock:
            self._looked = None
            self._events += 1
            for rest in self._rests.values():
                rest.end()

    def _note(self) -> None:
        self._noted = monotonic()
        loops, self._was_paused = self._was_paused | self._paused, set()
        if loops:
            queries.tick(*loops)
