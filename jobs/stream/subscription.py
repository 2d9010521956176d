"""The unsent events of one client of a stream: a bounded buffer with a maximum rate.

Spec: contract 25.3 (slow client, rate).
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from jobs.conf import conf
from jobs.services.record.events import StoredEvent


@dataclass(frozen=True, slots=True)
class SharedEvent:
    """One event on its way to any number of clients, with its shared renderings."""

    event: StoredEvent
    rendered: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Events that a slow client will not get: how many, the first and the last."""

    number: int
    oldest: StoredEvent
    newest: StoredEvent


@dataclass(frozen=True, slots=True)
class Scope:
    """The events to read; both None: all."""

    job_id: str | None = None
    queue: str | None = None


MOST = 50  # events of one chunk: each client has a copy of its own while it is sent


class Subscription:
    """The buffer between the reader and one client. Any thread may offer, one takes."""

    def __init__(self, scope: Scope, wants: Callable[[StoredEvent], bool]) -> None:
        """Start empty; `wants` selects events within the scope."""
        self.scope = scope
        self.joined = threading.Event()  # set by the reader
        self._wants = wants
        self._changed = threading.Condition()
        self._waiting: deque[SharedEvent] = deque()
        self._dropped: Dropped | None = None
        self._reason: str | None = None
        self._pace = _Pace(conf().stream_events_per_second)

    def offer(self, shared: SharedEvent) -> None:
        """Add a selected event; a full buffer drops the oldest. `flush` wakes the client."""
        if not self._wants(shared.event):
            return
        with self._changed:
            if len(self._waiting) >= conf().stream_buffer:
                self._drop(self._waiting.popleft().event)
            self._waiting.append(shared)

    def _drop(self, event: StoredEvent) -> None:
        before = self._dropped
        self._dropped = Dropped(
            (before.number if before else 0) + 1, before.oldest if before else event, event
        )

    def flush(self) -> None:
        """Wake the client if events wait for it."""
        with self._changed:
            if self._waiting:
                self._changed.notify()

    def end(self, reason: str) -> None:
        """Let the client leave; waiting events are still sent as far as the rate allows."""
        with self._changed:
            self._reason = self._reason or reason
            self._changed.notify()

    @property
    def ended(self) -> str | None:
        """Why the stream is over, None while it is not."""
        return self._reason

    def take(self, timeout_s: float) -> tuple[list[SharedEvent], Dropped | None]:
        """Return the next events, as many as the rate allows; none after `timeout_s`."""
        until = monotonic() + timeout_s
        with self._changed:
            while not self._reason:
                left = until - monotonic()
                wait_s = self._pace.wait_s() if self._waiting else left
                if left <= 0 or (self._waiting and wait_s <= 0):
                    break
                self._changed.wait(min(left, wait_s))
            number = min(len(self._waiting), self._pace.allowance())
            if not self._reason:  # otherwise this is the last time
                number = min(number, MOST)
            taken = [self._waiting.popleft() for _ in range(number)]
            self._pace.charge(number)
            dropped, self._dropped = self._dropped, None
            return taken, dropped


class _Pace:
    """A token bucket that fills with `per_second` and holds as many."""

    def __init__(self, per_second: int) -> None:
        self._rate = per_second
        self._tokens = float(per_second)
        self._at = monotonic()

    def allowance(self) -> int:
        now = monotonic()
        self._tokens = min(float(self._rate), self._tokens + (now - self._at) * self._rate)
        self._at = now
        return int(self._tokens)

    def wait_s(self) -> float:
        """How long until an event may be sent."""
        return 0.0 if self.allowance() else (1 - self._tokens) / self._rate

    def charge(self, number: int) -> None:
        self._tokens -= number
