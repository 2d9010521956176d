"""Notice changes of the database, so that loops without work can rest.

One thread of a process looks at the running transactions. A transaction that writes has an id, so
the look differs when one has begun or ended. Only then the thread looks at the facts that loops
wait for: new events, a new configuration version, or rows in tables that were empty.

The same thread stores that the resting loops are alive.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from django.db import connections

from jobs import queries

LOOK_S = 0.1
REST_S: Final = 30.0  # the longest rest


class Pulse:
    """The looks of a process, and its resting loops."""

    def __init__(self, note_s: float) -> None:
        """Begin without a look. `note_s` is the time between two notes of resting loops."""
        self._note_s = note_s
        self._changed = threading.Condition()
        self._is_stopped = False
        self._looked: queries.Look | None = None
        self._events = 0
        self._until = 0  # events may become visible until all transactions below have ended
        self._empty: dict[str, tuple[str, ...]] = {}  # tables by the loop that waits for their rows
        self._paused: set[str] = set()
        self._was_paused: set[str] = set()  # since the last note
        self._noted = monotonic()

    @property
    def events(self) -> int:
        """A number that is another one after an event or a change of the configuration."""
        return self._events

    def run(self) -> None:
        """Look until `stop`; while the database is away all loops are awake."""
        while not self._is_stopped:
            try:
                if self._paused:
                    self._look()
                if monotonic() - self._noted >= self._note_s:
                    self._note()
            except Exception:  # the loops report it
                connections.close_all()
                self._wake_all()
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, min(LOOK_S, self._note_s))
        connections.close_all()

    def stop(self) -> None:
        """End all rests."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    @contextmanager
    def paused(self, loop: str) -> Iterator[None]:
        """Note a loop as alive while this context lasts."""
        self._paused.add(loop)
        self._was_paused.add(loop)
        try:
            yield
        finally:
            self._paused.discard(loop)

    def wait_for_events(self, events: int) -> None:
        """Wait until `events` is another number."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._events != events, REST_S)

    def wait_for_rows(self, loop: str, tables: tuple[str, ...]) -> None:
        """Wait until one of the tables has a row."""
        with self._changed:
            self._empty[loop] = tables
        try:
            if not queries.have_rows([tables])[0]:  # after the entry: no look can miss a row
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._is_stopped or loop not in self._empty, REST_S
                    )
        finally:
            with self._changed:
                self._empty.pop(loop, None)

    def _look(self) -> None:
        before, self._looked = self._looked, queries.look()
        now = self._looked
        if self._looked == before:
            if (
                self._until and now.oldest_id == now.next_id
            ):  # no transaction runs, and none may come
                queries.take_id()
            return
        is_new = before is None or (before.event, before.version) != (now.event, now.version)
        if is_new:
            # an event may be stamped with the next id: see models.Event
            self._until = now.next_id + 1
        with self._changed:
            if is_new or self._until:
                self._events += 1
                self._changed.notify_all()
            if self._until and now.oldest_id >= self._until:
                self._until = 0
            waiting = dict(self._empty)
        if waiting:
            self._wake(waiting)

    def _wake(self, waiting: dict[str, tuple[str, ...]]) -> None:
        found = queries.have_rows(list(waiting.values()))
        with self._changed:
            for loop, has_rows in zip(waiting, found, strict=True):
                if has_rows:
                    self._empty.pop(loop, None)
            self._changed.notify_all()

    def _wake_all(self) -> None:
        with self._changed:
            self._looked = None
            self._events += 1
            self._empty.clear()
            self._changed.notify_all()

    def _note(self) -> None:
        self._noted = monotonic()
        loops, self._was_paused = self._was_paused | self._paused, set()
        if loops:
            queries.tick(*loops)
