"""Hold a FETCH until a job arrives: one LISTEN connection per process wakes the waiters.

A waiter holds a server thread, so only `SLOTS` wait at a time; without a free slot the answer comes
at once. Spec: contract 3.4 (`wait_ms`).
"""

import logging
import random
import threading
from collections.abc import Callable
from math import inf
from time import monotonic

import psycopg
from django.db import Error

from jobs.database import new_direct_connection
from jobs.domain.dispatch.claim import FetchRequest
from jobs.gather import prepare_wait
from jobs.queries import Claimed
from jobs.services.dispatch.fetch import fetch
from jobs.services.workers import draining
from jobs.trouble import Attempts

logger = logging.getLogger("ojs.waiting")

SLOTS = 2  # per process: half of the four threads that the manual recommends
POLL_S = 1.0  # a waiter looks at least this often, in case a notification was lost
RECONNECT_S, LONGEST_RECONNECT_S = 1.0, 5.0
LOOK_UP_S = 1.0  # how soon a stopped listener ends

slots = threading.BoundedSemaphore(SLOTS)


class Listener:
    """Listens for new jobs in a thread that starts with the first waiter."""

    def __init__(self) -> None:
        """Prepare the listener; it does not connect yet."""
        self._changed = threading.Condition()
        self._rounds = 0
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def rounds(self) -> int:
        """Return how many wake-ups there were; pass the number to `wait`."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._follow, daemon=True, name="ojs-listen")
                self._thread.start()
            return self._rounds

    def wait(self, seen: int, timeout_s: float) -> None:
        """Block until a wake-up after `seen`, or for `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: self._rounds != seen, timeout_s)

    def wake(self) -> None:
        """Let every waiter claim again."""
        with self._changed:
            self._rounds += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """End the connection and the thread."""
        self._over.set()
        if self._thread:
            self._thread.join()

    def _follow(self) -> None:
        attempts = Attempts(logger, "listen.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        while not self._over.is_set():
            try:
                self._listen(attempts)
            except (psycopg.Error, Error) as problem:
                self._over.wait(attempts.failed(problem))

    def _listen(self, attempts: Attempts) -> None:
        # LISTEN does not work through a transaction-mode pooler
        mine = new_direct_connection()
        mine.ensure_connection()
        with mine.connection as raw:
            raw.execute("LISTEN ojs_ready")
            attempts.went_well()
            self.wake()  # notifications from before LISTEN are lost
            # a replaced primary sends nothing: see ojs_project/database/primary.py
            while not self._over.is_set() and not getattr(raw, "is_replaced", False):
                for _ in raw.notifies(timeout=LOOK_UP_S):
                    self.wake()


_listener = Listener()
draining.on_drain(_listener.wake)


def fetch_or_wait(request: FetchRequest, wait_ms: int, is_gone: Callable[[], bool]) -> Claimed:
    """Claim jobs, and wait up to `wait_ms` for the first; empty at once if all slots are taken.

    A client that has gone meanwhile gets no job: its answer would be lost, and the job would wait
    for the end of its lease.
    """
    if not slots.acquire(blocking=False):
        return fetch(request)
    try:
        prepare_wait()
        return _wait(request, monotonic() + wait_ms / 1000, is_gone)
    finally:
        slots.release()


def opens_in_s(claimed: Claimed) -> float:
    """Return in how many seconds a claim may find more because a limit opens by itself."""
    return inf if claimed.opens_ms is None else claimed.opens_ms / 1000


def _wait(request: FetchRequest, until: float, is_gone: Callable[[], bool]) -> Claimed:
    quick = 0.01  # a claim may have skipped locked rows: retry soon at first
    while True:
        seen = _listener.rounds()
        claimed = fetch(request)
        left = until - monotonic()
        if claimed.jobs or claimed.directive or left <= 0 or draining.is_draining():
            return claimed
        pause = quick + random.random() * quick  # noqa: S311 - spreads polls, no secret
        _listener.wait(seen, min(pause, left, opens_in_s(claimed)))
        if is_gone():
            return claimed
        quick = min(quick * 2, POLL_S)
