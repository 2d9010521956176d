"""The one reader of the event record in a process; it copies each event to all clients' buffers.

It reads the record every POLL_S while a client follows. A NOTIFY with each commit would halve the
rate of enqueues, since commits that notify are serialised. Each read begins at the oldest
transaction that was running at the last read, and skips the events that were sent already. So an
event that is committed late is sent late, and never missed. Events that were committed before a
client joined are not sent to it, even if other clients still get them. See
docs/adr/0006-streams.md.
"""

import logging
import threading
from typing import Any

from django.db import connections

from jobs import queries
from jobs.domain.errors import BackendUnavailable, RealtimeUnavailable
from jobs.services.record.events import stored_event
from jobs.stream.subscription import SharedEvent, Subscription
from jobs.trouble import Attempts

logger = logging.getLogger("ojs.stream")

POLL_S = 0.1
PATIENCE_MS = 250  # how long an event waits for older transactions to end
BATCH = 2_000  # rows per read
MOST_AHEAD = 10_000  # limit: with more events sent ahead of one old transaction, the feed skips it
RETRY_S, LONGEST_RETRY_S = 1.0, 5.0  # pause after the first failure, and after many
JOIN_S = 5.0


class Feed:
    """Reads in a thread that starts with the first subscription and rests without any."""

    def __init__(self) -> None:
        """Prepare without a thread: the process may still fork."""
        self._changed = threading.Condition()
        self._members: set[Subscription] = set()
        self._thread: threading.Thread | None = None
        self._closed: str | None = None
        self._horizon: int | None = None  # read from here on, None: from now
        self._sent: dict[int, int] = {}  # seq to stamp of events sent from the horizon on
        self._missed: dict[Subscription, set[int]] = {}  # seqs of events committed before it joined

    def join(self, member: Subscription) -> None:
        """Send a client all events that are committed from now on.

        Raises RealtimeUnavailable while the process stops, BackendUnavailable without a database.
        """
        with self._changed:
            if self._closed:
                raise RealtimeUnavailable("the server is stopping", headers={"Retry-After": "1"})
            self._members.add(member)
            if self._thread is None:
                self._thread = threading.Thread(target=self._follow, daemon=True, name="ojs-feed")
                self._thread.start()
            self._changed.notify_all()
        if not member.joined.wait(JOIN_S):
            self.leave(member)
            raise BackendUnavailable("events cannot be read", headers={"Retry-After": "1"})

    def leave(self, member: Subscription) -> None:
        """Remove a client."""
        with self._changed:
            self._members.discard(member)
            self._missed.pop(member, None)

    def close(self, reason: str) -> None:
        """End every stream, and accept no more."""
        with self._changed:
            self._closed = reason
            members = list(self._members)
            self._changed.notify_all()
        for member in members:
            member.end(reason)

    def _follow(self) -> None:
        attempts = Attempts(logger, "stream.failed", RETRY_S, LONGEST_RETRY_S)
        while True:
            with self._changed:
                if not self._members:
                    self._horizon = None
                    connections.close_all()
                self._changed.wait_for(lambda: self._members or self._closed)
                if self._closed:
                    break
                members = list(self._members)
            try:
                self._run_once(members)
                attempts.went_well()
                pause_s = POLL_S
            except Exception as problem:  # a client's filter must not end the streams of others
                connections.close_all()
                pause_s = attempts.failed(problem)
            with self._changed:
                self._changed.wait_for(self._is_hurried, pause_s)
        connections.close_all()

    def _is_hurried(self) -> bool:
        return bool(self._closed) or any(not one.joined.is_set() for one in self._members)

    def _run_once(self, members: list[Subscription]) -> None:
        """Read and send until no more events are there."""
        self._welcome([member for member in members if not member.joined.is_set()])
        is_more = True
        while is_more and not self._closed:
            horizon, rows = queries.feed(self._params(members))
            for row in rows:
                self._send(SharedEvent(stored_event(row)), row[1], members)
            for member in members:
                member.flush()
            read = {row[1]: row[0] for row in rows}
            with self._changed:
                for seqs in self._missed.values():
                    seqs.difference_update(read)
            is_more = self._advance(horizon, read)

    def _welcome(self, joining: list[Subscription]) -> None:
        """Start clients behind the events that are committed by now."""
        if not joining:
            return
        is_first = self._horizon is None
        if self._horizon is None:
            self._horizon, self._sent = queries.horizon(), {}
        missed = queries.missed(self._horizon, self._sent, MOST_AHEAD + 1)
        if is_first and len(missed) > MOST_AHEAD:  # skips, as `_advance` does
            self._horizon = max(missed.values()) + 1
        elif is_first:  # no earlier client needs these events
            self._sent = missed
        else:
            with self._changed:
                members = self._members.intersection(joining)
                self._missed |= {member: set(missed) for member in members}
        for member in joining:
            member.joined.set()

    def _advance(self, horizon: int, read: dict[int, int]) -> bool:
        """Store the sent events, as seq to stamp; returns whether the read was cut short."""
        is_cut = len(read) >= BATCH
        upto = min(horizon, max(read.values())) if is_cut else horizon
        upto = max(upto, self._horizon or 0)  # skipped events stay behind
        ahead = {seq: stamp for seq, stamp in (self._sent | read).items() if stamp >= upto}
        if len(ahead) > MOST_AHEAD:
            # A transaction is open for so long that storing the events sent meanwhile costs too
            # much. Events of this transaction, if any, will appear in lists only.
            logger.warning("stream.overtook", extra={"transaction": upto, "events": len(ahead)})
            upto = max(ahead.values())
            ahead = {seq: stamp for seq, stamp in ahead.items() if stamp >= upto}
        self._horizon, self._sent = upto, ahead
        return is_cut

    def _params(self, members: list[Subscription]) -> dict[str, Any]:
        scopes = {member.scope for member in members}
        is_narrow = all(scope.job_id or scope.queue for scope in scopes)
        return {
            "stamp": str(self._horizon),
            "sent": list(self._sent),
            "patience_ms": PATIENCE_MS,
            "jobs": [scope.job_id for scope in scopes if scope.job_id] if is_narrow else None,
            "queues": [scope.queue for scope in scopes if scope.queue],
            "limit": BATCH,
        }

    def _send(self, shared: SharedEvent, seq: int, members: list[Subscription]) -> None:
        for member in members:
            if seq in self._missed.get(member, ()):
                continue
            scope = member.scope
            event = shared.event
            if scope.job_id in {None, event.job_id} and scope.queue in {None, event.queue}:
                member.offer(shared)
