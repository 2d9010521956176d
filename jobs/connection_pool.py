"""The connection pool: connections that no thread owns.

Threads that run the same statement in turn take the connection that was used last: its backend has
the plan in its caches. There are as many connections as concurrent statements, not as many as
threads.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_idle: list[BaseDatabaseWrapper] = []  # the most recently used is the last


@contextmanager
def borrowed() -> Iterator[BaseDatabaseWrapper]:
    """Lend a connection to this thread, in autocommit; it is closed by Django's own rules."""
    try:
        lent = _idle.pop()
    except IndexError:
        lent = connections.create_connection(DEFAULT_DB_ALIAS)
        lent.inc_thread_sharing()
    if _was_left(lent):
        lent.close()
    try:
        yield lent
    finally:
        lent.close_if_unusable_or_obsolete()
        _idle.append(lent)


def _was_left(lent: BaseDatabaseWrapper) -> bool:
    """Return whether the server has ended an idle connection, without a query.

    An idle connection has no unread data: data is the server's message of the end, or a hang-up.
    """
    raw = lent.connection
    if raw is None or raw.closed:
        return raw is not None
    if getattr(raw, "is_suspect", False):  # of ojs_project/database: the server stood still
        return True
    looked = select.poll()
    looked.register(raw.fileno(), select.POLLIN)
    return bool(looked.poll(0))


def close_idle() -> None:
    """Close the idle connections."""
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_idle.clear)  # they are its parent's
