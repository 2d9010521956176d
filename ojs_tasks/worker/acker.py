"""Send the outcomes of attempts in batches, and never lose one.

A slot runs its next job when the outcome of the last one is committed. So a crash repeats at most
one finished job per slot. Under load the waiting outcomes share statements. Only handlers marked
`idempotent` free their slot at once, and a crash may repeat their latest batch.
"""

import logging
import threading
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

from ojs_tasks.worker.ports import Answers, Away, Outcome, Tries
from ojs_tasks.worker.trouble import Attempts

logger = logging.getLogger("ojs.worker")

MOST = 500  # outcomes per statement
FULL = 250  # outcomes that are sent at once
LINGER_S = 0.005  # how long outcomes that no slot waits for may gather
BUSY = 25  # outcomes of a batch after which the next batch may gather for longer
LONGEST_LINGER_S = 0.02
RETRY_S, LONGEST_RETRY_S = 0.5, 4.0
BACKLOG = 2000  # unsent outcomes before idempotent handlers wait, too

Then = Callable[[], object]  # runs in the acker's thread when the outcome is committed


class Acker:
    """One thread that answers for all handler threads of a process."""

    def __init__(self, answers: Answers, tries: Tries | None = None) -> None:
        """Prepare; `start` starts the thread. `tries` counts the failures to reach the server."""
        self._answers = answers
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Outcome, Then | None]] = deque()
        self._wanted: float = inf  # the thread waits for so many outcomes
        self._has_waiter = False  # a slot waits for an outcome in `_waiting`
        self._over = False
        self._sending = 0
        self._tries = tries or Attempts(logger, "ack.delayed", RETRY_S, LONGEST_RETRY_S)
        self._thread = threading.Thread(target=self._run, name="ojs-ack", daemon=True)

    def start(self) -> None:
        """Start sending."""
        self._thread.start()

    def send(self, outcome: Outcome, *, wait: bool) -> None:
        """Queue an outcome; with `wait` return when it is committed."""
        if wait:
            sent = allocate_lock()
            sent.acquire()
            self.send_then(outcome, sent.release)
            sent.acquire()
            return
        # Without the lock: the acker sets `_wanted` before it looks at the outcomes.
        self._waiting.append((outcome, None))
        count = len(self._waiting)
        if count < self._wanted and count <= BACKLOG:
            return
        with self._changed:
            if count >= self._wanted:
                self._wanted = inf
                self._changed.notify_all()
            if count > BACKLOG:
                self._changed.wait_for(lambda: len(self._waiting) <= BACKLOG)

    def send_then(self, outcome: Outcome, then: Then) -> None:
        """Queue an outcome without waiting; `then` runs when it is committed."""
        with self._changed:
            self._waiting.append((outcome, then))
            self._has_waiter = True
            self._changed.notify_all()

    def is_behind(self) -> bool:
        """Return whether `send` would wait even for an idempotent handler."""
        return len(self._waiting) > BACKLOG

    def flush(self, timeout_s: float) -> bool:
        """Wait until all queued outcomes are sent; returns whether they were."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._waiting and not self._sending, timeout_s
            )

    def stop(self, timeout_s: float) -> None:
        """Send the remaining outcomes and end the thread."""
        self.flush(timeout_s)
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        self._answers.open()
        linger_s = LINGER_S
        while batch := self._take(linger_s):
            linger_s = LONGEST_LINGER_S if len(batch) >= BUSY else LINGER_S
            self._send_until_done([outcome for outcome, _ in batch])
            for _, then in batch:
                if then is not None:
                    then()
            with self._changed:
                self._sending = 0
                self._changed.notify_all()
        self._answers.close()

    def _take(self, linger_s: float) -> list[tuple[Outcome, Then | None]]:
        """Wait for outcomes, and let outcomes that no slot waits for gather; none: the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._has(1))
            self._changed.wait_for(lambda: self._has(FULL), linger_s)
            self._wanted = inf
            count = min(MOST, len(self._waiting))
            self._sending = count
            batch = [self._waiting.popleft() for _ in range(count)]
            self._has_waiter = any(then is not None for _, then in self._waiting)
            return batch

    def _has(self, wanted: int) -> bool:
        """Return whether the next batch has so many outcomes, or must be sent before that."""
        self._wanted = wanted  # first: a thread that sends compares it after its outcome is there
        return len(self._waiting) >= wanted or self._has_waiter or self._over

    def _send_until_done(self, batch: Sequence[Outcome]) -> None:
        began = monotonic()
        while True:
            try:
                self._answers.send(batch)
            except Away as problem:  # the outcomes wait here until it is back, and so do the leases
                self._answers.close()
                if self._over and monotonic() - began > RETRY_S * 10:
                    logger.exception("ack.given_up", extra={"count": len(batch)})
                    return
                threading.Event().wait(self._tries.failed(problem))
            except Exception:
                logger.exception("ack.failed", extra={"count": len(batch)})
                self._send_each(batch)
                return
            else:
                self._tries.went_well()
                return

    def _send_each(self, batch: Sequence[Outcome]) -> None:
        """Send each outcome alone: one cannot be stored, and its lease will end by itself."""
        if len(batch) > 1:
            for outcome in batch:
                self._send_until_done([outcome])
