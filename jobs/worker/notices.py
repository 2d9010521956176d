"""Wait for new jobs on the connection that claims them.

A notification reaches the thread that claims, and it claims at once. A thread of its own for LISTEN
would first have to wake the main thread, and both threads need the interpreter.
"""

import os
import select
import weakref
from contextlib import suppress
from math import ceil
from typing import Final

import psycopg

from jobs.database import connection

CHANNEL: Final = "ojs_ready"


class Notices:
    """The notifications of new jobs. All methods but `wake` are for the thread that claims."""

    def __init__(self) -> None:
        """Prepare; `listen` connects."""
        self._listening: psycopg.Connection[object] | None = None
        self._was_notified = False
        self._woken, self._waking = os.pipe()
        for end in (self._woken, self._waking):
            os.set_blocking(end, False)
            weakref.finalize(self, os.close, end)

    def listen(self) -> None:
        """Listen on this thread's connection, before a claim. Raises Error.

        Earlier notifications are forgotten: the claim sees their jobs.
        """
        if self._listening is not None and connection.connection is self._listening:
            self._read(self._listening)  # closes it if it is lost
        connection.ensure_connection()
        mine = connection.connection
        if mine is not self._listening:
            with connection.wrap_database_errors:
                mine.add_notify_handler(self._note)
                mine.execute(f"LISTEN {CHANNEL}")
            self._listening = mine
        self._was_notified = False

    def wait(self, timeout_s: float) -> bool:
        """Block until a notification since `listen`, a call of `wake`, or for `timeout_s`.

        Returns whether a claim is due before the timeout. A lost connection is closed, and the
        claim connects again.
        """
        mine = self._listening
        if mine is None or connection.connection is not mine:
            return True
        self._read(mine)
        if not self._was_notified and connection.connection is mine:
            poll = select.poll()
            poll.register(mine.fileno(), select.POLLIN)
            poll.register(self._woken, select.POLLIN)
            if not poll.poll(ceil(timeout_s * 1000)):
                return False
            with suppress(BlockingIOError):
                os.read(self._woken, 65536)
        return True

    def wake(self) -> None:
        """End the present wait, or the next one; for any thread."""
        with suppress(BlockingIOError):  # full: the wait ends anyway
            os.write(self._waking, b"\0")

    def _read(self, mine: "psycopg.Connection[object]") -> None:
        """Take the notifications that have arrived."""
        try:
            mine.pgconn.consume_input()
            for _ in iter(mine.pgconn.notifies, None):
                self._was_notified = True
        except psycopg.Error:
            connection.close()

    def _note(self, _notification: psycopg.Notify) -> None:
        """Take a notification that psycopg has read with the answer to a statement."""
        self._was_notified = True
