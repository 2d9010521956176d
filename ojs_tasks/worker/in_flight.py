"""The jobs that a worker process has claimed and not yet answered, and its running attempts."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final

from ojs_tasks.context import ClaimedJob, Context
from ojs_tasks.worker.chain import Place
from ojs_tasks.worker.pace import Pace

MOST_CLAIMED: Final = 400  # by one claim
AHEAD_S: Final = 0.1  # work to hold when jobs are short; a claim takes some milliseconds


@dataclass(slots=True)
class Running:
    """One attempt, in a thread or on the event loop."""

    context: Context
    places: list[Place]  # where it executes, the innermost last; empty: not yet on the event loop
    until: float  # monotonic: the end of its execution time
    warned: bool = False
    answered: bool = False


class InFlight:
    """The jobs in flight of one process. All threads use it; one lock protects both tables."""

    def __init__(self, concurrency: int, on_low: Callable[[], None]) -> None:
        """Begin with no job; `on_low` runs when a job ended and the next claim is due."""
        self._lock = threading.Lock()
        self._held: dict[str, Context] = {}  # every job claimed and not yet answered
        self._running: dict[int, Running] = {}  # by the id of its context
        self._todo: SimpleQueue[Context | None] = SimpleQueue()
        self._concurrency = concurrency
        self._on_low = on_low
        self._pace = Pace()
        self._ended = 0  # attempts so far
        self._window = concurrency * 2  # how many jobs to hold
        self._is_over = False
        self._begins: threading.Event | None = None  # of a thread that waits for an attempt

    # --- held jobs

    def free(self) -> int:
        """Return how many jobs to claim: two per slot, so that a slot never waits for a claim.

        More when jobs are so short that two per slot end sooner than the claim.
        """
        with self._lock:
            self._window = max(self._concurrency * 2, self._pace.per(AHEAD_S, self._ended))
            return min(MOST_CLAIMED, self._window - len(self._held)) if self._is_low() else 0

    def add(self, contexts: Sequence[Context]) -> None:
        """Hold claimed jobs. A job that is lost and claimed again replaces its old attempt.

        The old attempt may still wait or run: its end must not affect the new attempt.
        """
        with self._lock:
            self._held.update({context.job.id: context for context in contexts})
        for context in contexts:
            self._todo.put(context)

    def forget(self, context: Context) -> None:
        """Remove the job of an attempt that was answered."""
        with self._lock:
            if self._held.get(context.job.id) is context:
                del self._held[context.job.id]
            self._ended += 1
            is_low = self._is_low()
        if is_low:
            self._on_low()

    def drop(self, jobs: Sequence[ClaimedJob]) -> None:
        """Remove jobs that are given back."""
        with self._lock:
            for job in jobs:
                self._held.pop(job.id, None)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of the held jobs."""
        with self._lock:
            return tuple(self._held)

    def attempts(self) -> set[tuple[str, int]]:
        """Return the id and the attempt of each held job."""
        with self._lock:
            return {(job_id, context.attempt) for job_id, context in self._held.items()}

    def find(self, job_id: str) -> Context | None:
        """Return the attempt of a held job; None if the job is not held."""
        with self._lock:
            return self._held.get(job_id)

    def count(self) -> int:
        """Return the number of held jobs."""
        with self._lock:
            return len(self._held)

    def _is_low(self) -> bool:
        """Return whether half of the window is free: small claims cost as much as large ones."""
        return len(self._held) * 2 <= self._window

    # --- attempts

    def begin(self) -> Running | None:
        """Wait for a job and begin its attempt in this thread; None: the thread ends."""
        while (context := self._todo.get()) is not None:
            job = context.job
            with self._lock:
                if self._held.get(job.id) is not context:  # given back or claimed again meanwhile
                    continue
                until = monotonic() + job.timeout_ms / 1000
                entry = Running(context, [threading.get_ident()], until)
                self._running[id(context)] = entry
                if self._begins is not None:
                    self._begins.set()
                return entry
        return None

    def hand_over(self, entry: Running) -> None:
        """Take an attempt from this thread for the event loop; its time begins there."""
        with self._lock:
            entry.places.clear()
            entry.until = inf

    def enter(self, entry: Running, place: Place) -> bool:
        """Note that an attempt on the event loop goes on in a place; False: its time is over."""
        with self._lock:
            if entry.until == inf:
                entry.until = monotonic() + entry.context.job.timeout_ms / 1000
            entry.places.append(place)
            return not entry.warned

    def leave(self, entry: Running) -> None:
        """Note that an attempt has left the place that it entered last."""
        with self._lock:
            entry.places.pop()

    def is_busy(self) -> bool:
        """Return whether an attempt runs."""
        return bool(self._running)

    def wait_for_attempt(self) -> None:
        """Wait until an attempt runs, or until `end_wait`; for one thread."""
        with self._lock:
            if self._running or self._is_over:
                return
            begins = self._begins = threading.Event()
        begins.wait()
        with self._lock:
            self._begins = None

    def end_wait(self) -> None:
        """End the wait for an attempt; later waits end at once."""
        with self._lock:
            self._is_over = True
            if self._begins is not None:
                self._begins.set()

    def finish(self, entry: Running) -> bool:
        """Remove it from the running attempts; returns whether it was answered already."""
        with self._lock:
            self._running.pop(id(entry.context), None)
            return entry.answered

    def late(self, now: float) -> list[Running]:
        """Return the running attempts whose execution time is over."""
        with self._lock:
            return [entry for entry in self._running.values() if entry.until <= now]

    def expire(
        self, entry: Running, now: float, stuck_s: float, warn: Callable[[Running], None]
    ) -> bool:
        """Warn a late attempt once; `stuck_s` after its time mark it as answered.

        Returns whether the caller has to answer it. The lock lets no attempt end between the check
        and the call of `warn`.
        """
        with self._lock:
            if not self._is_open(entry) or entry.until > now:
                return False
            if not entry.warned:
                entry.warned = True
                warn(entry)
                return False
            if now < entry.until + stuck_s:
                return False
            entry.answered = True
            return True

    def take_answer(self, entry: Running) -> bool:
        """Mark an attempt as answered; returns whether the caller has to answer it."""
        with self._lock:
            is_open = self._is_open(entry)
            entry.answered = True
            return is_open

    def _is_open(self, entry: Running) -> bool:
        return self._running.get(id(entry.context)) is entry and not entry.answered

    def surplus(self) -> list[ClaimedJob]:
        """Take the latest jobs that wait for a thread, if the threads no longer end jobs.

        The window grew while jobs were short. Two jobs per slot stay.
        """
        with self._lock:
            if len(self._held) <= self._window or self._pace.per(AHEAD_S, self._ended):
                return []
            number = len(self._held) - self._window
        waiting = self._taken()
        for context in waiting[:-number]:
            self._todo.put(context)
        return [context.job for context in waiting[-number:]]

    # --- the end

    def unstarted(self) -> list[ClaimedJob]:
        """Take the jobs that wait for a thread, and return them."""
        return [context.job for context in self._taken()]

    def _taken(self) -> list[Context]:
        found: list[Context] = []
        while True:
            try:
                context = self._todo.get_nowait()
            except Empty:
                return found
            if context is not None:
                found.append(context)

    def abandon(self) -> list[ClaimedJob]:
        """Mark all running attempts as answered, and return the jobs that were not."""
        with self._lock:
            left = [entry.context.job for entry in self._running.values() if not entry.answered]
            for entry in self._running.values():
                entry.answered = True
        return left

    def end_threads(self) -> None:
        """Let every idle thread in `begin` end."""
        for _ in range(self._concurrency):
            self._todo.put(None)
