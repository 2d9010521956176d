"""Send the outcomes of attempts in batches, and never lose one.

A handler thread waits until its outcome is committed before it takes another job. So a crash
repeats at most one finished job per thread. Under load the waiting outcomes share statements. Only
handlers marked `idempotent` go on at once, and a crash may repeat their latest batch.
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from time import monotonic

from django.db import DataError, Error, connection

from jobs.bounds import Work, for_thread
from jobs.domain.errors import OJSError
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.trouble import Attempts

logger = logging.getLogger("ojs.worker")

MOST = 500  # outcomes per statement
FULL = 50  # outcomes that are sent at once
LINGER_S = 0.005  # how long outcomes without a waiting thread may gather
RETRY_S, LONGEST_RETRY_S = 0.5, 4.0
BACKLOG = 2000  # unsent outcomes before idempotent handlers wait, too

Outcome = Ack | Nack


class Acker:
    """One thread that answers for all handler threads of a process."""

    def __init__(self) -> None:
        """Prepare; `start` starts the thread."""
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Outcome, threading.Event | None]] = deque()
        self._over = False
        self._sending = 0
        self._attempts = Attempts(logger, "ack.delayed", RETRY_S, LONGEST_RETRY_S)
        self._thread = threading.Thread(target=self._run, name="ojs-ack", daemon=True)

    def start(self) -> None:
        """Start sending."""
        self._thread.start()

    def send(self, outcome: Outcome, *, wait: bool) -> None:
        """Queue an outcome; with `wait` return when it is committed."""
        sent = threading.Event() if wait else None
        with self._changed:
            self._waiting.append((outcome, sent))
            if wait or len(self._waiting) in {1, FULL}:
                self._changed.notify_all()
            if not wait and len(self._waiting) > BACKLOG:
                self._changed.wait_for(lambda: len(self._waiting) <= BACKLOG)
        if sent:
            sent.wait()

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
        for_thread(Work.REQUESTS)
        while batch := self._take():
            self._send_until_done([outcome for outcome, _ in batch])
            for _, sent in batch:
                if sent:
                    sent.set()
            with self._changed:
                self._sending = 0
                self._changed.notify_all()
        connection.close()

    def _take(self) -> list[tuple[Outcome, threading.Event | None]]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._over)
            if self._waiting and not any(sent for _, sent in self._waiting):
                self._changed.wait_for(self._is_worth_it, LINGER_S)
            batch = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            self._sending = len(batch)
            return batch

    def _is_worth_it(self) -> bool:
        return self._over or len(self._waiting) >= FULL or any(s for _, s in self._waiting)

    def _send_until_done(self, batch: Sequence[Outcome]) -> None:
        began = monotonic()
        while True:
            try:
                _send(batch)
            except DataError:
                logger.exception("ack.failed", extra={"count": len(batch)})
                self._send_each(batch)
                return
            except Error as problem:
                # the database is away: the results wait here until it is back, and so do the leases
                connection.close()
                if self._over and monotonic() - began > RETRY_S * 10:
                    logger.exception("ack.given_up", extra={"count": len(batch)})
                    return
                threading.Event().wait(self._attempts.failed(problem))
            except Exception:
                logger.exception("ack.failed", extra={"count": len(batch)})
                self._send_each(batch)
                return
            else:
                self._attempts.went_well()
                return

    def _send_each(self, batch: Sequence[Outcome]) -> None:
        """Send each outcome alone: one cannot be stored, and its lease will end by itself."""
        if len(batch) > 1:
            for outcome in batch:
                self._send_until_done([outcome])


def _send(batch: Sequence[Outcome]) -> None:
    acks = [outcome for outcome in batch if isinstance(outcome, Ack)]
    nacks = [outcome for outcome in batch if isinstance(outcome, Nack)]
    answers = [*(ack(acks) if acks else ()), *(nack(nacks) if nacks else ())]
    for answer in answers:
        if isinstance(answer, OJSError):  # cancelled, or the lease was lost
            logger.warning("ack.refused", extra={"reason": answer.message})
